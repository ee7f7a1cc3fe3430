"""Dropout draws its mask in the graph."""
import torch.nn.functional as F


def dropout(x):
    return F.dropout(x, 0.1), F.dropout(x, 0.1, training=False)


def get_inputs():
    import torch
    return [torch.randn(4)]
