import torch

rows = 4096
dim = 4096


def softmax(x):
    return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(rows, dim)]
