"""Backward of softmax by hand: its result and a gradient (rows, dim) -> (rows, dim). Moves 3*rows*dim elements."""
import torch

rows = 4096
dim = 4096


def softmax_bwd(y, grad):
    return y * (grad - (y * grad).sum(dim=-1, keepdim=True))


def get_inputs():
    return [torch.softmax(torch.randn(rows, dim), dim=-1), torch.randn(rows, dim)]
