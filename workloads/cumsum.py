"""Running sums of every row: x (rows, dim) -> (rows, dim). Moves 2*rows*dim elements."""
import torch

rows = 4096
dim = 4096


def cumsum(x):
    return torch.cumsum(x, dim=-1)


def get_inputs():
    return [torch.randn(rows, dim)]
