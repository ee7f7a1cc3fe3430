import torch
import torch.nn.functional as F


def err_self_repr(x):
    a = []
    a.append(a)
    a.append(a)
    raise ValueError(str(a))


def get_inputs():
    return [torch.randn(4, 8)]
