"""A short list of indices that are more than numbers is a tuple of them: x[[rows, columns]] is x[rows, columns]."""
import numpy as np
import torch

x = torch.arange(24.0).view(2, 3, 4)
r, c = torch.tensor([0, 1]), torch.tensor([2, 0])

@torch.compile
def picked(x, r, c):
    return x[[r, c]], x[[[0, 1], [1, 2]]], x[[slice(0, 1), 2]], x[[0, 1]], x[:, [r[1], 0]], x[[None, ..., 1]].shape

print(picked(x, r, c))
print(x[[r, c]], x[[[0, 1], [1, 2]]], x[[slice(0, 1), 2]], x[[1]], x[:, [r[1], 0]])
y = x.clone()
y[[r, c]] = 0
y[[[1], [1]]] = -1
print(y)

@torch.compile
def put(x, r, c):
    x = x.clone()
    x[[r, c]] = 5
    return x

print(put(x, r, c))
a = np.arange(12).reshape(3, 4)
print(a[[[0, 1], [1, 2]]].shape, a[[0, 2]])

# -- lists of which nothing is picked, and masks that a module's __init__ knows
class Halves(torch.nn.Module):
    def __init__(self):
        super().__init__()
        mask = torch.zeros(4).byte()
        mask[::2] += 1
        self.register_buffer('even', torch.arange(4).masked_select(mask > 0))
        self.odd = torch.arange(4)[mask <= 0]

    def forward(self, x):
        y = x.clone()
        y[:, [False, False, False], 0] = y[:, [False, False, False], 1]
        y[..., [True, False, True, False]] = 0
        return y[..., self.even], y[..., self.odd], y[[]].shape, y[:, [False] * 3].shape

print(torch.compile(Halves())(x))

@torch.compile
def stale(x):
    y = x[x > 5]
    first = y[..., None]
    y += 1
    return first.sum()

print(stale(x), 36893488147419103232 / 2)
