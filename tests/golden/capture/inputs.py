"""Inputs of every kind: tensors, numbers, lists; one is not used, one is used under two names; one is transposed."""
import torch

bias = torch.full((4,), 0.5)


def inputs(x, unused, n, flags, *rest, scale=2.0):
    y = x.T * n if flags["on"] else x
    assert rest[1] is x
    return y + bias + rest[0][1] + scale, rest[1] - bias.sum()


def get_inputs():
    x = torch.randn(4, 4).t()
    return [x, torch.randn(9), 3, {"on": True}, [None, torch.arange(4)], x]
