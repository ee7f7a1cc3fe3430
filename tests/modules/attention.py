import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """Multi-head attention written out, causal, without dropout."""
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.q, self.k, self.v = [nn.Linear(dim, dim, bias=False) for _ in range(3)]
        self.out = nn.Linear(dim, dim)

    def split(self, x):
        b, t, _ = x.shape
        return x.view(b, t, self.heads, self.head_dim).transpose(1, 2)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (self.split(f(x)) for f in (self.q, self.k, self.v))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(self.head_dim)
        mask = torch.ones(t, t, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(mask, float('-inf'))
        y = torch.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, d))


def get_inputs():
    return [torch.randn(2, 7, 16)]


def get_init_inputs():
    return [16, 4]
