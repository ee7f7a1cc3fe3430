"""A Mamba block: causal depthwise convolution, selective scan by a loop over time, gate. (batch, length, width) -> the same."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
length = 512
width = 768
expand = 2
states = 16
taps = 4


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        inner, self.rank = expand * width, math.ceil(width / 16)
        self.norm = RMSNorm(width)
        self.in_proj = nn.Linear(width, inner * 2, bias=False)
        self.conv1d = nn.Conv1d(inner, inner, kernel_size=taps, groups=inner, padding=taps - 1)
        self.x_proj = nn.Linear(inner, self.rank + states * 2, bias=False)
        self.dt_proj = nn.Linear(self.rank, inner)
        A = torch.arange(1, states + 1, dtype=torch.float32).repeat(inner, 1)
        self.A_log = nn.Parameter(torch.log(A))
        self.D = nn.Parameter(torch.ones(inner))
        self.out_proj = nn.Linear(inner, width, bias=False)

    def ssm(self, x):
        d_in, n = self.A_log.shape
        A, D = -torch.exp(self.A_log.float()), self.D.float()
        delta, B, C = self.x_proj(x).split(split_size=[self.rank, n, n], dim=-1)
        delta = F.softplus(self.dt_proj(delta))
        return self.selective_scan(x, delta, A, B, C, D)

    def selective_scan(self, u, delta, A, B, C, D):
        b, l, d_in = u.shape
        delta_a = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
        delta_b_u = torch.einsum("bld,bln,bld->bldn", delta, B, u)
        x = torch.zeros((b, d_in, A.shape[1]), device=u.device, dtype=delta_a.dtype)
        ys = []
        for i in range(l):
            x = delta_a[:, i] * x + delta_b_u[:, i]
            ys.append(torch.einsum("bdn,bn->bd", x, C[:, i, :].to(x.dtype)))
        y = torch.stack(ys, dim=1)
        return (y + u * D).to(u.dtype)

    def forward(self, x):
        _, l, _ = x.shape
        x_and_res = self.in_proj(self.norm(x))
        h, res = x_and_res.chunk(2, dim=-1)
        h = self.conv1d(h.transpose(1, 2))[:, :, :l].transpose(1, 2)
        y = self.ssm(F.silu(h)) * F.silu(res)
        return x + self.out_proj(y)


def get_inputs():
    return [torch.randn(batch, length, width)]


def get_init_inputs():
    return []
