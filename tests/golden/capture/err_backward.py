import torch
import torch.nn.functional as F


def err_backward(x):
    x.sum().backward()
    return x


def get_inputs():
    return [torch.randn(4, 8)]
