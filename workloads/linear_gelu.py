"""GELU of a linear layer: x (rows, inner) -> (rows, outer). 2*rows*inner*outer flops;
moves rows*inner + inner*outer + rows*outer elements."""
import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 2048
inner = 2048
outer = 2048


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.W = nn.Parameter(torch.randn(inner, outer) * inner**-0.5)
        self.b = nn.Parameter(torch.randn(outer))

    def forward(self, x):
        return F.gelu(x @ self.W + self.b)


def get_inputs():
    return [torch.randn(rows, inner)]


def get_init_inputs():
    return [inner, outer]
