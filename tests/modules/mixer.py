import torch
import torch.nn as nn


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def forward(self, x):
        return self.net(x)


class Model(nn.Module):
    """MLP-Mixer on patches cut by reshaping."""
    def __init__(self, size, patch, dim):
        super().__init__()
        self.patch, n = patch, (size // patch) ** 2
        self.embed = nn.Linear(3 * patch * patch, dim)
        self.norms = nn.ModuleDict({'tokens': nn.LayerNorm(dim), 'channels': nn.LayerNorm(dim)})
        self.tokens, self.channels = Mlp(n, 2 * n), Mlp(dim, 2 * dim)

    def forward(self, x):
        b, c, h, w = x.shape
        p = self.patch
        x = x.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * p * p)
        x = self.embed(x)
        x = x + self.tokens(self.norms['tokens'](x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(self.norms['channels'](x))
        return x.mean(dim=1)


def get_inputs():
    return [torch.randn(2, 3, 8, 8)]


def get_init_inputs():
    return [8, 4, 12]
