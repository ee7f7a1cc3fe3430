import torch
import torch.nn.functional as F


def err_with(x):
    with 5:
        return x


def get_inputs():
    return [torch.randn(4, 8)]
