import torch
import torch.nn.functional as F


def err_shapes(x):
    return x + torch.ones(4, 7)


def get_inputs():
    return [torch.randn(4, 8)]
