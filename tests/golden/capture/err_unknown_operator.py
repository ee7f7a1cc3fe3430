import torch
import torch.nn.functional as F


def err_unknown_operator(x):
    return torch.sofmax(x, dim=1)


def get_inputs():
    return [torch.randn(4, 8)]
