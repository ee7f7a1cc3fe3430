"""A block of depthwise and pointwise convolutions, and one that grows the image again."""
import torch
import torch.nn as nn

channels = 6
size = 12


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = nn.Conv2d(channels, channels, 7, padding='same', groups=channels)
        self.norm = nn.GroupNorm(2, channels)
        self.wide = nn.Conv2d(channels, 4 * channels, 1)
        self.narrow = nn.Conv2d(4 * channels, channels, 1)
        self.grow = nn.ConvTranspose2d(channels, 3, 4, stride=2, padding=1)

    def forward(self, x):
        y = self.narrow(nn.functional.gelu(self.wide(self.norm(self.depth(x)))))
        return torch.tanh(self.grow(x + y))


def get_inputs():
    return [torch.randn(2, channels, size, size)]
