import torch
from torch import nn


class Model(nn.Module):
    """Updates in place by methods with arguments of their own; bands is a constant of forward(), whose gradient nobody asks for."""

    def __init__(self):
        super().__init__()
        bands = 2.0 ** torch.linspace(0.0, 2.0, 3)
        self.functions = [lambda x, band=band: x * band for band in bands]

    def forward(self, x, n):
        x.div_(x.abs() + 0.5, rounding_mode="floor")
        n.div_(3, rounding_mode="trunc")
        y = sum(f(x) for f in self.functions)
        return y.round_(decimals=1), n, y.clone().logit_(eps=0.1), torch.round(y, decimals=2)


def get_inputs():
    return [torch.randn(4), torch.arange(-4, 4)]
