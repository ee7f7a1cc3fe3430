import torch
import torch.nn as nn


class Model(nn.Module):
    """Gradients end where torch.no_grad() says so; what no gradient comes to needs no end."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(8))

    @torch.no_grad()
    def center(self, x):
        return x.mean(0) * self.scale

    def forward(self, x, i):
        with torch.no_grad():
            row = x[0]
            last = i.sum() + i.shape[0]
            scale = self.scale * 2
        return (x - self.center(x)) * row * scale + last


def get_inputs():
    return [torch.randn(4, 8), torch.randint(0, 4, (4,))]
