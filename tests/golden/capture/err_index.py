import torch
import torch.nn.functional as F


def err_index(x):
    return x + [1, 2][2]


def get_inputs():
    return [torch.randn(4, 8)]
