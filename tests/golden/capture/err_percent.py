import torch
import torch.nn.functional as F


def err_percent(x):
    assert "%d" % 3
    return x


def get_inputs():
    return [torch.randn(4, 8)]
