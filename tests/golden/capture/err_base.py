import torch
import torch.nn.functional as F


def err_base(x):
    class A(torch.Tensor):
        pass
    return x


def get_inputs():
    return [torch.randn(4, 8)]
