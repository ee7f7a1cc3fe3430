import torch
import torch.nn.functional as F


def err_unbound(x):
    if x.ndim == 3:
        y = 1
    return x * y


def get_inputs():
    return [torch.randn(4, 8)]
