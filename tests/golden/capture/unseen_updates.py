import torch
from torch import nn


class Model(nn.Module):
    """What autograd does not see has a new value, and the gradient of the old one: under no_grad(), through .data and
    detach(), by an assignment to .data. What a detached alias reads has none."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.far = nn.Parameter(torch.ones(3, 4))
        self.register_buffer("seen", torch.zeros(4))

    @torch.no_grad()
    def follow(self):
        self.far.data = self.far.data * 0.9
        self.seen.lerp_(self.scale, 0.1)

    def forward(self, x):
        self.follow()
        self.scale.data.clamp_(0, 4.6)
        y = x * 2
        alias = y.detach()
        with torch.no_grad():
            y[1].mul_(10)
        return x * self.scale, self.far * y, alias * x


def get_inputs():
    return [torch.randn(3, 4)]
