import torch
import torch.nn.functional as F


def err_tensor_list(x):
    return x * torch.tensor([1.0, 2.0])


def get_inputs():
    return [torch.randn(4, 8)]
