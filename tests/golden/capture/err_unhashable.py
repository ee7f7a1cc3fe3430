import torch
import torch.nn.functional as F


def err_unhashable(x):
    return {[1]: x}


def get_inputs():
    return [torch.randn(4, 8)]
