import torch
import torch.nn.functional as F


def err_bool_loop(x):
    class A:
        def __bool__(self):
            return self
    return x if A() else x


def get_inputs():
    return [torch.randn(4, 8)]
