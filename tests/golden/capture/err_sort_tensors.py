import torch
import torch.nn.functional as F


def err_sort_tensors(x):
    return sorted([x, x.cos()], key=lambda t: t.sum())[0]


def get_inputs():
    return [torch.randn(4, 8)]
