import torch
import torch.nn.functional as F


def err_math(x):
    import math
    return x * math.sqrt(x.sum())


def get_inputs():
    return [torch.randn(4, 8)]
