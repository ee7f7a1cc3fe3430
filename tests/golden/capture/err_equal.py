import torch
import torch.nn.functional as F


def err_equal(x):
    return x * (x in [x + 1])


def get_inputs():
    return [torch.randn(4, 8)]
