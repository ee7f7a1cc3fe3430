"""An error inside torch.nn is shown where the user calls it."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(5, 2))

    def forward(self, x):
        y = x * 2
        return self.net(y)


def get_inputs():
    return [torch.randn(3, 8)]
