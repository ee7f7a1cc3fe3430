import torch
import torch.nn.functional as F


def err_self_list(x):
    a, b = [], []
    a.append(b)
    b.append(a)
    assert a != b
    return x


def get_inputs():
    return [torch.randn(4, 8)]
