"""Gated MLP: x (rows, dim) -> (rows, dim), down(silu(x Wg) * (x Wu)). 6*rows*dim*hidden flops;
moves 2*rows*dim + 3*dim*hidden elements, and rows*hidden that lie between the products."""
import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 1024
dim = 1024
hidden = 2816


class Model(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def get_inputs():
    return [torch.randn(rows, dim)]


def get_init_inputs():
    return [dim, hidden]
