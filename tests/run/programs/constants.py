"""Constants made of lists, in __init__ and in forward; numbers taken from tensors before forward; updates at looked-up
places; patterns of einops."""
import numpy as np
import torch
import torch.nn as nn
from einops import pack, rearrange, reduce, repeat, unpack


class Model(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        rates = [r.item() for r in torch.linspace(0, 0.5, depth)]
        self.scales = [1 - r for r in rates]
        self.slopes = torch.Tensor([2.0 ** -i for i in range(8)])
        self.register_buffer('mean', torch.tensor([0.485, 0.456, 0.406]))
        if torch.ones(2).sum() > 1 and int(torch.tensor(7)) == 7:
            self.scale = np.sqrt(1 / np.prod([2, 2]))

    def forward(self, x, i):
        a = x * self.slopes * self.scales[1] * self.scale - self.mean[:2].sum()
        kernel = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        b = x[:, :2] @ kernel + torch.tensor(2.0)
        c = torch.zeros(6, 8)
        c[i, 2] = 7.0
        c[[0, 5]] = x[:2]
        c[i[:2, None], torch.tensor([0, 1])] += 1
        c[c[:, 0] > 0.5] = 0.25
        d = rearrange(x, '(b h) (w c) -> b c h w', b=2, c=4)
        e = repeat(reduce(d, 'b c h w -> b c', 'mean'), 'b c -> b (c r)', r=2) + rearrange(d, 'b ... -> b (...)')[:, :8]
        packed, shapes = pack([d, e], 'b *')
        f, g = unpack(packed + 1, shapes, 'b *')
        return a, b, c, d.exp(), e, f * d, g


def get_inputs():
    return [torch.randn(6, 8), torch.tensor([4, 1, 3])]
