import torch
import torch.nn.functional as F


def err_iterate(x):
    for y in 5:
        x = x + y
    return x


def get_inputs():
    return [torch.randn(4, 8)]
