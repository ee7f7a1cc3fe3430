"""Classes derived from PyTorch's that have fields and methods of their own, by names that say nothing to PyTorch."""
import torch
from torch import nn

rows = 2


class Taps(nn.Conv1d):
    n = 7

    def __init__(self, width):
        super().__init__(width, width, 3)
        self.n, self.dims, self.mode = 5, 4, 'reflect'


class Edge(nn.ConstantPad1d):
    dims, mode = 3, 'of my own'


class Steps(nn.LSTM):
    gates, states, directions = 5, 7, 3

    def step(self, x):
        return super().forward(x)[0]

    def result(self):
        return self.states


class Cell(nn.GRUCell):
    gates = 9

    def step(self, x, h):
        return self(x, h) * self.gates


class Rows(nn.ModuleList):
    _names = _items = ()

    def __init__(self, layers):
        super().__init__(layers)
        self._items, self._names, self._tensors = [1], ['one'], None


class Signed(torch.autograd.Function):
    @staticmethod
    def _forward(x):
        return x.abs().sqrt() * x.sign()

    @staticmethod
    def _backward(grad, x):
        return grad * 0.5 / x.abs().sqrt()

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Signed._forward(x)

    @staticmethod
    def backward(ctx, grad):
        return Signed._backward(grad, *ctx.saved_tensors)


class Pooled(nn.MaxPool1d):
    _pool = _shown = None


class Model(nn.Module):
    _shown = _remove = _named = None

    def __init__(self):
        super().__init__()
        self._hooks, self._children, self._tensors, self._all_modules = [], {}, 3, 0
        self.taps, self.edge, self.steps, self.cell = Taps(4), Edge(1, 0.5), Steps(4, 4), Cell(4, 4)
        self.rows, self.pooled = Rows([nn.Linear(4, 4), nn.Tanh()]), Pooled(2)
        self.taps.register_forward_hook(lambda module, args, out: out * module.n)
        assert len(list(self.modules())) == 9 and len(list(self.parameters())) == 12, 'what a module has'
        assert len(self.rows) == 2 and self.rows._items == [1] and repr(self.pooled).startswith('Pooled(kernel_size=2')

    def forward(self, x):
        y = self.pooled(self.edge(self.taps(x)))
        for layer in self.rows:
            x = layer(x)
        return y, self.steps.step(x), self.cell.step(x[0], x[1]), Signed.apply(x + 0.01)


def get_inputs():
    return [torch.randn(rows, 4, 4)]
