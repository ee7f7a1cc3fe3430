"""What is written through .data and detach() has no gradient where the buffer is read; what is read through z has."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))
        self.register_buffer('mean', torch.zeros(4))

    def forward(self, x):
        y = x @ self.w
        self.mean.data.add_(y.mean(0))
        z = y.detach()
        z[1].mul_(y[0])
        return y * self.mean + z


def get_inputs():
    return [torch.randn(4, 4)]
