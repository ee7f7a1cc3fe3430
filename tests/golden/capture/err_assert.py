import torch
import torch.nn.functional as F


def err_assert(x):
    assert x.shape[1] == 7, "seven columns"
    return x


def get_inputs():
    return [torch.randn(4, 8)]
