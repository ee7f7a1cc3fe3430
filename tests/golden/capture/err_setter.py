import torch
import torch.nn.functional as F


def err_setter(x):
    class A:
        @property
        def a(self):
            return 1
    A().a = 2
    return x


def get_inputs():
    return [torch.randn(4, 8)]
