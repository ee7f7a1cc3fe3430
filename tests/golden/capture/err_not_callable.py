import torch
import torch.nn.functional as F


def err_not_callable(x):
    return x(1)


def get_inputs():
    return [torch.randn(4, 8)]
