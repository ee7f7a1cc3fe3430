import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Pooled at three scales, brought back to size, added up."""
    def __init__(self, weights):
        super().__init__()
        self.weights = weights

    def forward(self, x):
        total = x * self.weights[0]
        for level, weight in enumerate(self.weights[1:], start=1):
            small = F.avg_pool2d(x, 2 ** level)
            total = total + weight * F.interpolate(small, scale_factor=2 ** level, mode='nearest')
        return total


def get_inputs():
    return [torch.randn(2, 3, 8, 8)]


def get_init_inputs():
    return [[1.0, 0.5, 0.25]]
