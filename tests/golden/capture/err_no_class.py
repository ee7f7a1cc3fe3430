import torch
import torch.nn.functional as F


def err_no_class(x):
    return torch.nn.CrossMapLRN2d(2)(x)


def get_inputs():
    return [torch.randn(4, 8)]
