import torch
import torch.nn.functional as F


def err_mask_index(x):
    return x[x > 0]


def get_inputs():
    return [torch.randn(4, 8)]
