import torch
import torch.nn.functional as F


def err_zero(x):
    return x * (1 / 0)


def get_inputs():
    return [torch.randn(4, 8)]
