import torch
import torch.nn as nn


class Model(nn.Module):
    """One filter step of small matrices, batched; the inverse of 2 x 2 by hand."""
    def __init__(self):
        super().__init__()
        self.register_buffer('f', torch.ones(2, 2).triu())
        self.register_buffer('q', torch.eye(2) * 0.01)

    @staticmethod
    def inverse(m):
        a, b, c, d = m[:, 0, 0], m[:, 0, 1], m[:, 1, 0], m[:, 1, 1]
        adjugate = torch.stack([torch.stack([d, -b], -1), torch.stack([-c, a], -1)], -2)
        return adjugate / (a * d - b * c)[:, None, None]

    def forward(self, x, p, z):
        x = (self.f @ x.unsqueeze(-1)).squeeze(-1)
        p = self.f @ p @ self.f.t() + self.q
        gain = p @ self.inverse(p + torch.eye(2))
        return x + (gain @ (z - x).unsqueeze(-1)).squeeze(-1), p - gain @ p


def get_inputs():
    return [torch.randn(4, 2), torch.eye(2).expand(4, 2, 2) * 2.0, torch.randn(4, 2)]


def get_init_inputs():
    return []
