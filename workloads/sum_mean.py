"""Pointwise, row sums, their mean: x, y (rows, dim) -> (). Moves 2*rows*dim elements."""
import torch
import torch.nn.functional as F

rows = 4096
dim = 4096


def sum_mean(x, y):
    return F.silu(torch.relu((x + y) * 2.0)).sum(dim=1).mean()


def get_inputs():
    return [torch.randn(rows, dim), torch.randn(rows, dim)]
