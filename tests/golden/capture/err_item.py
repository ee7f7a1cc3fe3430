import torch
import torch.nn.functional as F


def err_item(x):
    return x * x.max().item()


def get_inputs():
    return [torch.randn(4, 8)]
