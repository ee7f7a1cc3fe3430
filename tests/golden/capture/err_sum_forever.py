import torch
import torch.nn.functional as F


def err_sum_forever(x):
    return x * sum(range(10 ** 12))


def get_inputs():
    return [torch.randn(4, 8)]
