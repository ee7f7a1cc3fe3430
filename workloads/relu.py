"""ReLU: the plainest kernel there is. x (n) -> (n). Moves 2*n elements."""
import torch

n = 16777216


def relu(x):
    return torch.relu(x)


def get_inputs():
    return [torch.randn(n)]
