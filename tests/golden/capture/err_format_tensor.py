import torch
import torch.nn.functional as F


def err_format_tensor(x):
    print(f"{x.sum():.2f}")
    return x


def get_inputs():
    return [torch.randn(4, 8)]
