import torch
import torch.nn.functional as F


def err_huge(x):
    return x * len([0] * 100000000)


def get_inputs():
    return [torch.randn(4, 8)]
