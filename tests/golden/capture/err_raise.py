import torch
import torch.nn.functional as F


def err_raise(x):
    if x.shape[0] != 5:
        raise ValueError(f"need 5 rows, got {x.shape[0]}")
    return x


def get_inputs():
    return [torch.randn(4, 8)]
