"""Calls as public files have them: numbers before the tensors that they weigh, as PyTorch had it first and still takes it,
numpy's functions of tensors, embeddings of given weights, and what of modules that are not there a forward never uses."""
import inspect
import platform

import numpy as np
import torch
from torch import nn
from torch.autograd.variable import Variable
from tensorflow.keras.callbacks import History
from sklearn.metrics import *

rows = 4
assert platform.python_version_tuple()[0] == '3'


class Named(nn.Linear):
    __doc__ = nn.Linear.__doc__


class Model(nn.Module):
    """Its text."""

    def __init__(self):
        super().__init__()
        table = torch.sin(torch.arange(24.0)).view(6, 4)
        self.table = nn.Embedding.from_pretrained(table, padding_idx=0)
        self.tuned = nn.Embedding.from_pretrained(table, freeze=False)
        self.history = History()
        betas = torch.tensor(np.linspace(0.1, 0.4, 4), dtype=torch.float32)
        self.register_buffer('scale', betas * np.sqrt(1 - betas) + np.maximum(betas, 0.2) * np.array([1, 2, 3, 4], np.float32))
        self.mix = Named(4, 4)
        names = [c.__name__ for c in inspect.getmro(self.__class__)]
        assert names == ['Model', 'Module', 'object'] and self.__doc__ == 'Its text.'
        assert not self.table.weight.requires_grad and self.tuned.weight.requires_grad
        assert len(list(self._named_members(lambda m: m._parameters.items()))) == 4

    def forward(self, x, y, m):
        z = self.mix(Variable(x)) * self.scale
        z = torch.add(z, 2, y).add(-0.5, x).sub(3, y)
        z.mul_(0.9).add_(0.1, y).addcmul_(1 - 0.9, x, y).addcdiv_(-0.01, x, y.exp())
        z = torch.addmm(0.5, z, 2, m, m) + torch.addmm(0.5, z, m, m) + z.addmm(0.25, -1, m, m)
        z = z + torch.addmv(0.5, x[0], 2, m, y[0]) + m.addr(0.5, x[0], y[0])
        return z, self.table(torch.arange(4)) * self.tuned(torch.arange(4)) * x, torch.baddbmm(1, z[None], 2, m[None], m[None])


def get_inputs():
    return [torch.randn(rows, 4), torch.randn(rows, 4), torch.randn(rows, 4)]
