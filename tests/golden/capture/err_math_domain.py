import torch
import torch.nn.functional as F


def err_math_domain(x):
    import math
    return x * math.sqrt(-1)


def get_inputs():
    return [torch.randn(4, 8)]
