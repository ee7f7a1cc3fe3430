import torch
import torch.nn.functional as F


def err_slice_step(x):
    return x[::-1]


def get_inputs():
    return [torch.randn(4, 8)]
