import torch


def no_inputs():
    return torch.arange(8).float() / 7


def get_inputs():
    return []
