# options: --dtype bf16
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 8
hidden = 64


class Norm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * scale * self.weight


class Model(nn.Module):
    def __init__(self, dim, layers):
        super().__init__()
        self.norm = Norm(dim)
        self.layers = nn.ModuleList([nn.Linear(dim, dim, bias=i == 0) for i in range(layers)])
        self.register_buffer("shift", torch.zeros(dim))

    def forward(self, x):
        x = self.norm(x)
        for i, layer in enumerate(self.layers):
            x = F.silu(layer(x)) if i else layer(x).relu()
        return x + self.shift


def get_init_inputs():
    return [hidden, 2]


def get_inputs():
    return [torch.randn(batch, hidden)]
