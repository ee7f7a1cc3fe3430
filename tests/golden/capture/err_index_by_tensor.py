import torch
import torch.nn.functional as F


def err_index_by_tensor(x):
    return [1, 2, 3][x.sum()]


def get_inputs():
    return [torch.randn(4, 8)]
