"""The strongest gate of a pooled softmax: its gradient asks which channel has the maximum, in another kernel than it was found
in, or in another loop, where the compiler rounds once instead of twice."""
import torch
import torch.nn as nn

batch = 2
channels = 6
side = 8


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.pool = nn.MaxPool3d(2)
        self.shift = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        x = torch.softmax(self.pool(x), dim=1)
        x = x - self.shift.view(1, -1, 1, 1, 1)
        x = torch.sigmoid(x) * x
        return x.amax(dim=1)


def get_inputs():
    return [torch.randn(batch, channels, 4, 6, side)]


def get_init_inputs():
    return [channels]
