"""What is made of buffers alone has a value in forward: branches and shapes may depend on it. So do checks of tensors, which
are taken to hold."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('steps', torch.zeros((), dtype=torch.long))
        self.register_buffer('width', torch.tensor([2, 3]))
        self.register_buffer('started', torch.tensor(False))

    def forward(self, x):
        assert torch.isfinite(x).all() and not (x > 1e6).any(), f'not finite: {x}'
        if x.min() < -1e6 or torch.max(x) > 1e6:
            raise ValueError('out of range')
        if not self.started:
            self.started.fill_(True)
            x = x * 2
        if self.started:
            x = x + 1
        self.steps += 1
        x = x / float(self.steps) if self.steps == 1 else x.exp()
        return x[:, :self.width[0]], x[:, :self.width.max().item()]


def get_inputs():
    return [torch.randn(4, 6)]
