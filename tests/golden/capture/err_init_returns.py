import torch
import torch.nn.functional as F


def err_init_returns(x):
    class A:
        def __init__(self):
            return 5
    return A()


def get_inputs():
    return [torch.randn(4, 8)]
