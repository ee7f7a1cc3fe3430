"""Quantiles, filled diagonals, and orthogonal weights."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.tall = nn.Parameter(torch.empty(3, 7)), nn.Parameter(torch.empty(8, 2, 2))
        nn.init.orthogonal_(self.wide)
        nn.init.orthogonal_(self.tall, gain=2.0)

    def forward(self, x, q):
        kinds = [x.quantile(0.3, dim=0, interpolation=k) for k in ('lower', 'higher', 'midpoint', 'nearest')]
        tall = self.tall.flatten(1)
        return (torch.quantile(x, 0.25, dim=-1), x.quantile(0.9), torch.quantile(x, q, dim=1), x.quantile(q, 0, True),
                *kinds, x.clone().fill_diagonal_(0), x[:5, :5].conj().clone().fill_diagonal_(3.5),
                self.wide @ self.wide.T, tall.T @ tall)


def get_inputs():
    return [torch.randn(6, 9), torch.tensor([0.1, 0.5, 0.77])]
