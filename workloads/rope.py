"""Rotary embedding: x (batch, heads, seq, dim), pairs of elements half the dimension apart are rotated by an angle that
grows with the position. Moves 2*batch*heads*seq*dim elements."""
import torch

batch = 4
heads = 32
seq = 2048
dim = 128


def rope(x, cos, sin):
    pairs = x.view(batch, heads, seq, 2, dim // 2)
    first, second = pairs[:, :, :, 0], pairs[:, :, :, 1]
    rotated = torch.stack([first * cos - second * sin, second * cos + first * sin], dim=-2)
    return rotated.view(batch, heads, seq, dim)


def get_inputs():
    angles = torch.arange(seq)[:, None] * 10000.0 ** (torch.arange(dim // 2) * (-2.0 / dim))
    return [torch.randn(batch, heads, seq, dim), torch.cos(angles), torch.sin(angles)]
