import torch
from torch import nn

from ..shapes import raise_here

FACTOR = 2.0
rows = 3  # no axis: that of the workload is


def gate(x):
    return torch.sigmoid(x)


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * gate(x @ torch.diag(self.weight))
