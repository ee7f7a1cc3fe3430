import torch
import torch.nn.functional as F


def err_metaclass(x):
    class A(metaclass=type):
        pass
    return x


def get_inputs():
    return [torch.randn(4, 8)]
