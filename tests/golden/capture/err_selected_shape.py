import torch


def err_selected_shape(x):
    picked = x[x > 0]
    return picked.sum() / picked.shape[0]


def get_inputs():
    return [torch.randn(4, 8)]
