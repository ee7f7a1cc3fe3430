"""Residual sum, then RMS norm: x, residual (rows, dim) -> the norm and the sum. Moves 4*rows*dim elements."""
import torch
import torch.nn as nn

rows = 4096
dim = 4096


class Model(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))
        self.eps = eps

    def forward(self, x, residual):
        total = x + residual
        mean_square = total.pow(2).mean(dim=-1, keepdim=True)
        return total * torch.rsqrt(mean_square + self.eps) * self.weight, total


def get_inputs():
    return [torch.randn(rows, dim), torch.randn(rows, dim)]


def get_init_inputs():
    return [dim, 1e-6]
