import math

import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    """One step of a gated recurrent unit from bare parameters."""
    def __init__(self, inputs, hidden):
        super().__init__()
        k = 1 / math.sqrt(hidden)
        self.w = nn.Parameter(torch.empty(3 * hidden, inputs).uniform_(-k, k))
        self.u = nn.Parameter(torch.empty(3 * hidden, hidden).uniform_(-k, k))
        self.b = nn.ParameterList([nn.Parameter(torch.zeros(3 * hidden)) for _ in range(2)])

    def forward(self, x, h):
        xr, xz, xn = (x @ self.w.t() + self.b[0]).split(h.shape[1], dim=1)
        hr, hz, hn = (h @ self.u.t() + self.b[1]).split(h.shape[1], dim=1)
        r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
        return (1 - z) * torch.tanh(xn + r * hn) + z * h


def get_inputs():
    return [torch.randn(rows, 9), torch.randn(rows, 14)]


def get_init_inputs():
    return [9, 14]
