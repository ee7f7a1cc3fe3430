import torch
import torch.nn.functional as F


def err_overflow(x):
    return x * (2 ** 40 * 2 ** 40)


def get_inputs():
    return [torch.randn(4, 8)]
