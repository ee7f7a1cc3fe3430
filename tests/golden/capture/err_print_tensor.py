import torch
import torch.nn.functional as F


def err_print_tensor(x):
    print("norm", x.norm())
    return x


def get_inputs():
    return [torch.randn(4, 8)]
