import torch
import torch.nn.functional as F


def err_float(x):
    return x * float(x.sum())


def get_inputs():
    return [torch.randn(4, 8)]
