"""Functions of torch that are given complex numbers, or a complex dtype: each works on both parts."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        f, w = torch.linspace(1e-4, 2, 3), torch.linspace(0, 3, 5)[:, None]
        z = torch.exp(-1j * f * w)
        self.register_buffer('z', torch.cat([w, z.real, z.imag], -1))
        self.c = nn.Parameter(torch.view_as_real(torch.randn(3, 5, dtype=torch.cfloat)))
        assert torch.view_as_complex(self.c).dtype == torch.complex64 and torch.zeros(2, dtype=torch.complex64).is_complex()

    def forward(self, x):
        c = torch.view_as_complex(self.c)
        a = -torch.exp(x) + 1j * x.abs()
        k = (a.unsqueeze(-1) * torch.arange(4))
        y = 2 * torch.einsum('hn,hnl->hl', c * (torch.exp(a) - 1.) / a, torch.exp(k)).real
        out = torch.zeros(3, 8, dtype=torch.cfloat)
        out[:, :5] = torch.stack([c[0], c[1], c[2]]) * torch.roll(c, 1, -1)
        both = torch.cat([out, torch.sin(c), torch.matmul(c, c.transpose(0, 1))], dim=1)
        mixed = torch.where(x > 0, c, x.to(torch.complex64)) + torch.full((3, 5), 1 + 2j, dtype=torch.complex64)
        return y, torch.view_as_real(both), torch.abs(both), torch.view_as_real(mixed), x.new_tensor(range(3)) + self.z.sum()


def get_inputs():
    return [torch.randn(3, 5)]
