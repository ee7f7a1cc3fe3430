import torch
import torch.nn.functional as F


def err_keyword(x):
    def f(a):
        return a
    return f(x, b=1)


def get_inputs():
    return [torch.randn(4, 8)]
