import torch
import torch.nn.functional as F


def err_name(x):
    return x * undefined


def get_inputs():
    return [torch.randn(4, 8)]
