"""Layers of LSTM over a sequence: each layer is a loop whose steps carry the state; products with the input are made before it."""
import torch
import torch.nn as nn

layers = 6
steps = 512
batch = 10
inputs = 128
hidden = 256


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.LSTM(inputs, hidden, layers)

    def forward(self, x):
        return self.net(x)[0]


def get_inputs():
    return [torch.randn(steps, batch, inputs)]


def get_init_inputs():
    return []
