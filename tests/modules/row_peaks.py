"""The peaks of every row, and which they are: a product, so that a + b * c may be one instruction or two."""
import torch

rows = 16
dim = 1001


def row_peaks(a, b, c):
    product = a * b
    x = product + c
    peak = x.amax(-1, keepdim=True)
    hit = torch.where(x == peak, torch.ones_like(x), torch.zeros_like(x))
    return hit / hit.sum(-1, keepdim=True), product * 2


def get_inputs():
    return [torch.randn(rows, dim), torch.randn(rows, dim), torch.randn(rows, dim)]
