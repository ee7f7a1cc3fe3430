"""RMS norm from primitives: x (rows, dim) -> (rows, dim). Moves 2*rows*dim elements."""
import torch
import torch.nn as nn

rows = 4096
dim = 4096


class Model(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))
        self.eps = eps

    def forward(self, x):
        mean_square = x.pow(2).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


def get_inputs():
    return [torch.randn(rows, dim)]


def get_init_inputs():
    return [dim, 1e-6]
