import torch
import torch.nn.functional as F


def err_reraise(x):
    raise


def get_inputs():
    return [torch.randn(4, 8)]
