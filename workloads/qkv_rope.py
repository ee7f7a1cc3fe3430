"""Queries, keys and values of attention by one projection, queries and keys rotated: x (batch, seq, heads*dim) -> three
(batch, heads, seq, dim). 6*batch*seq*(heads*dim)**2 flops; moves 4*batch*seq*heads*dim + 3*(heads*dim)**2 elements."""
import torch
import torch.nn as nn

batch = 2
seq = 1024
heads = 16
dim = 64


def rotated(x, cos, sin):
    """Pairs of elements half the dimension apart, each turned by an angle that grows with the position."""
    first, second = x[..., : dim // 2], x[..., dim // 2 :]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, bias=False)

    def forward(self, x, cos, sin):
        q, k, v = self.qkv(x).view(batch, seq, 3, heads, dim).permute(2, 0, 3, 1, 4).unbind(0)
        return rotated(q, cos, sin), rotated(k, cos, sin), v


def get_inputs():
    angles = torch.arange(seq)[:, None] * 10000.0 ** (torch.arange(dim // 2) * (-2.0 / dim))
    return [torch.randn(batch, seq, heads * dim), torch.cos(angles), torch.sin(angles)]


def get_init_inputs():
    return [heads * dim]
