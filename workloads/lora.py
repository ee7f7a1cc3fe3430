"""Linear layer with an adapter of low rank: x (rows, inner) -> (rows, outer), x W + scale * (x A) B.
2*rows*inner*outer + 2*rows*rank*(inner + outer) flops; moves rows*(inner + outer) + inner*outer + rank*(inner + outer)
elements."""
import torch
import torch.nn as nn

rows = 2048
inner = 2048
outer = 2048
rank = 16
scale = 2.0


class Model(nn.Module):
    def __init__(self, inner, outer, rank, scale):
        super().__init__()
        self.W = nn.Parameter(torch.randn(inner, outer) * inner**-0.5, requires_grad=False)
        self.A = nn.Parameter(torch.randn(inner, rank) * inner**-0.5)
        self.B = nn.Parameter(torch.randn(rank, outer))
        self.scale = scale

    def forward(self, x):
        return x @ self.W + self.scale * ((x @ self.A) @ self.B)


def get_inputs():
    return [torch.randn(rows, inner)]


def get_init_inputs():
    return [inner, outer, rank, scale]
