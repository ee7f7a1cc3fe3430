import torch
import torch.nn.functional as F


def err_bad_exception(x):
    try:
        1 / 0
    except 5:
        pass
    return x


def get_inputs():
    return [torch.randn(4, 8)]
