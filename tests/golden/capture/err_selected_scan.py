import torch


def err_selected_scan(x):
    return x[x > 0].cumsum(0).sum()


def get_inputs():
    return [torch.randn(4, 8)]
