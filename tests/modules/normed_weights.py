"""A discriminator whose weights have length g, or the largest singular value 1."""
import torch
import torch.nn as nn
from torch.nn.utils import parametrizations, spectral_norm, weight_norm

batch = 6
dim = 8


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = spectral_norm(nn.Linear(dim, 12))
        self.second = weight_norm(nn.Linear(12, 10))
        self.third = parametrizations.weight_norm(nn.Linear(10, 7), dim=1)
        self.last = parametrizations.spectral_norm(nn.Linear(7, 3), n_power_iterations=2)

    def forward(self, x):
        for layer in (self.first, self.second, self.third, self.last):
            x = torch.tanh(layer(x))
        return x


def get_inputs():
    return [torch.randn(batch, dim)]
