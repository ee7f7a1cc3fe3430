import torch
import torch.nn.functional as F


def err_attribute(x):
    class C: pass
    return x * C().eps


def get_inputs():
    return [torch.randn(4, 8)]
