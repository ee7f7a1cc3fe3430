import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 8


class Model(nn.Module):
    """Outputs and gradients that are 0 but for rounding: the mean of what was normalised, a bias before a norm."""

    def __init__(self, inputs, features, groups):
        super().__init__()
        self.linear = nn.Linear(inputs, features)
        self.norm = nn.BatchNorm1d(features)
        self.groups = nn.GroupNorm(groups, features)

    def forward(self, x):
        x = F.gelu(self.norm(self.linear(x)))
        return F.relu(self.groups(x).mean(dim=1, keepdim=True))


def get_inputs():
    return [torch.randn(rows, 10)]


def get_init_inputs():
    return [10, 16, 4]
