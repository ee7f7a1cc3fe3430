import torch
import torch.nn.functional
import torch.nn.functional as F
from torch import nn, optim as opt
from math import (
    pi,
    e as euler,
)

a = b = 1
a, b = b, a
first, *middle, last = [1, *xs, 2]
[p, (q, r)] = f()
x.y[0].z = x[a, b] = {**d, "k": 1, **e}
x.n += 1
x[i, j] *= 2
x[f()] @= w
x: int = 3
y: "list[int]"
s = {1, *xs}
t = *xs, 3
del a, x.y, x[0], (p, q)
