import torch
import torch.nn.functional as F


def err_max_dim(x):
    return torch.max(x, 1)


def get_inputs():
    return [torch.randn(4, 8)]
