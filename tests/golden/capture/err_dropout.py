import torch
import torch.nn.functional as F


def err_dropout(x):
    return F.dropout(x, 0.1)


def get_inputs():
    return [torch.randn(4, 8)]
