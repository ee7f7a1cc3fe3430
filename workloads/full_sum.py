"""Sum of all elements: x (n) -> (). Moves n elements."""
import torch

n = 16777216


def full_sum(x):
    return x.sum()


def get_inputs():
    return [torch.randn(n)]
