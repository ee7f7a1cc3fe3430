"""Matrix times vector: matrix (rows, inner), x (inner) -> (rows). 2*rows*inner flops; moves rows*inner + inner + rows
elements."""
import torch

rows = 8192
inner = 8192


def gemv(matrix, x):
    return matrix @ x


def get_inputs():
    return [torch.randn(rows, inner), torch.randn(inner)]
