import torch
import torch.nn.functional as F


def err_list_index(x):
    return x[[0, 1.5]]


def get_inputs():
    return [torch.randn(4, 8)]
