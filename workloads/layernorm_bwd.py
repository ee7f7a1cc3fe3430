"""Backward of layer norm by hand: x, a gradient (rows, dim) -> gradients of x, weight and bias.
Moves 3*rows*dim elements."""
import torch
import torch.nn as nn

rows = 4096
dim = 4096


class Model(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))
        self.eps = eps

    def forward(self, x, grad):
        centered = x - x.mean(dim=-1, keepdim=True)
        rstd = torch.rsqrt(centered.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        normed = centered * rstd
        g = grad * self.weight
        dx = rstd * (g - g.mean(dim=-1, keepdim=True) - normed * (g * normed).mean(dim=-1, keepdim=True))
        return dx, (grad * normed).sum(dim=0), grad.sum(dim=0)


def get_inputs():
    return [torch.randn(rows, dim), torch.randn(rows, dim)]


def get_init_inputs():
    return [dim, 1e-5]
