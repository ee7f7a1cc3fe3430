import torch
import torch.nn.functional as F


def err_missing_dim(x):
    return torch.softmax(x)


def get_inputs():
    return [torch.randn(4, 8)]
