import torch
from torch.nn import Linaer


def err_import_name(x):
    return Linaer(4, 4)(x)


def get_inputs():
    return [torch.randn(4)]
