import torch
import torch.nn as nn
import torch.nn.functional as F

dim = 8
eps: float = 1e-5

class Norm(nn.Module):
    def __init__(self, n, *, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.bias = nn.Parameter(torch.zeros(n)) if bias else None

    def forward(self, x):
        y = (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, correction=0, keepdim=True) + eps)
        y = y * self.weight
        return y + self.bias if self.bias is not None else y

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Norm(dim) for _ in range(2)])
        self.head = nn.Linear(dim, 4)

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
        return F.softmax(self.head(x), dim=-1), x[..., ::2].sum()

def get_inputs():
    return [torch.randn(3, dim)]
