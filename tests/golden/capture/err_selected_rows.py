import torch


def err_selected_rows(x):
    picked = x[x > 0]
    return x * picked.unsqueeze(1)


def get_inputs():
    return [torch.randn(8, 4)]
