import torch
import torch.nn.functional as F


def err_unpack(x):
    a, b, c = x.shape
    return x


def get_inputs():
    return [torch.randn(4, 8)]
