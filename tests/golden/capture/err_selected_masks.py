import torch


def err_selected_masks(x, y):
    return (x[x > 0] - y[y > 0]).sum()


def get_inputs():
    return [torch.randn(4, 8), torch.randn(4, 8)]
