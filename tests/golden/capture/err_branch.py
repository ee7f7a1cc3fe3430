import torch
import torch.nn.functional as F


def err_branch(x):
    if x.sum() > 0:
        x = x * 2
    return x


def get_inputs():
    return [torch.randn(4, 8)]
