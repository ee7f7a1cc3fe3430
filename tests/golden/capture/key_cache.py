"""A row of a cache at a position: no scatter over all of its elements."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 3, 16, 4))

    def forward(self, k, position):
        self.cache[:, :, position] = k
        return self.cache.sum(2)


def get_inputs():
    return [torch.randn(2, 3, 1, 4), torch.tensor([5])]
