"""Quantiles, filled diagonals and orthogonal weights: PyTorch's numbers."""
import torch
import torch.nn as nn

x = (torch.arange(24) * 37 % 19 - 9).reshape(4, 6) / 10
print(x.quantile(0.25, dim=1), torch.quantile(x, 0.9), x.quantile(0.5, 0, keepdim=True))
print(torch.quantile(x, torch.tensor([0.0, 0.3, 1.0]), dim=1), x.quantile(torch.tensor([0.1]), keepdim=True).shape)
for kind in ('lower', 'higher', 'midpoint', 'nearest'):
    print(kind, x.quantile(0.3, dim=0, interpolation=kind), x[:3].quantile(0.75, dim=0, interpolation=kind))
y = x.clone()
y[1, 2] = float('nan')
print(y.quantile(0.5, dim=1))
print(x.clone().fill_diagonal_(5), torch.zeros(2, 2, 2).fill_diagonal_(1).flatten(), x.conj() is not None)

for shape, gain in (((3, 7), 1), ((8, 3), 2), ((4, 2, 2), 1)):
    w = nn.init.orthogonal_(nn.Parameter(torch.empty(shape)), gain=gain).detach().flatten(1)
    small = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    print(torch.allclose(small, gain ** 2 * torch.eye(small.shape[0]), atol=1e-5))
print(nn.init.eye_(torch.empty(2, 3)))
