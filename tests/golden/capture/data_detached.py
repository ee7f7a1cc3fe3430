"""A layer that its first batch sets: what is assigned was computed for it, and detached."""
import torch
from torch import nn


class ActNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Parameter(torch.zeros(1, 4))
        self.set = False

    def forward(self, x):
        if not self.set:
            self.s.data = (-torch.log(x.std(dim=0, keepdim=True))).detach()
            self.set = True
        return x * torch.exp(self.s)


def get_inputs():
    return [torch.randn(8, 4)]
