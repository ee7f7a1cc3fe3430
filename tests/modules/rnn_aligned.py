import torch
import torch.nn as nn


class Model(nn.Module):
    """Steps that begin where vectors do, so that none is copied: of inputs, too; and more of them than sizes may multiply to."""
    def __init__(self):
        super().__init__()
        self.net = nn.GRU(16, 16)

    def forward(self, x):
        return self.net(x)[0]


def get_inputs():
    return [torch.randn(2000, 2, 16)]
