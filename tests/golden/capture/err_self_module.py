import torch
import torch.nn.functional as F


def err_self_module(x):
    s = torch.nn.Sequential()
    s.append(s)
    return s(x)


def get_inputs():
    return [torch.randn(4, 8)]
