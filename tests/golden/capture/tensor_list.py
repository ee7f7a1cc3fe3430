import torch

limit = int(torch.tensor([3, 1]).max())


def tensor_list(x):
    """Constants of forward are made outside of it; what __init__ or the module makes has a value."""
    weights = torch.tensor([[1.0], [0.5]])
    weights[0] += 1
    return x[:limit] * torch.tensor([0.25] * 8) + weights.sum()


def get_inputs():
    return [torch.randn(4, 8)]
