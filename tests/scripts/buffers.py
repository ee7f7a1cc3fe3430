"""Buffers are names of a module: what forward() assigns to one is saved, loaded and moved as the first tensor was."""
import copy
import torch
import torch.nn as nn


class Average(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('mean', torch.zeros(2))
        self.register_buffer('seen', None)
        self.register_buffer('last', torch.zeros(1), persistent=False)
        self.register_parameter('scale', None)
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x):
        self.mean = self.mean * 0.5 + x.mean(0) * 0.5
        self.last = x[0]
        return (x - self.mean) * self.weight


def show(m):
    print(dict(m.state_dict()), [name for name, _ in m.named_buffers()], list(m._buffers), [name for name, _ in m.named_parameters()])


x = torch.arange(6.0).reshape(3, 2)
for compiled in (False, True):
    m = Average()
    call = torch.compile(m) if compiled else m
    for _ in range(2):
        call(x)
        show(m)
    m.seen = torch.tensor(7)
    m.scale = nn.Parameter(torch.zeros(1))
    show(m)
    other = Average()
    other.seen = torch.tensor(0)
    other.scale = nn.Parameter(torch.ones(1))
    print(other.load_state_dict(m.state_dict()), other.mean.tolist(), other.seen.item())
    show(copy.deepcopy(m))
    print(m.double().mean.dtype, m.last.dtype)
    m.mean = None
    show(m)
    m.mean = torch.zeros(1)
    m.plain = torch.zeros(1)
    show(m)
    del m.mean
    m.mean = torch.zeros(1)
    show(m)
    try:
        m.weight = torch.zeros(2)
    except TypeError as error:
        print(error)
norm = nn.BatchNorm1d(2, affine=False)
norm.running_mean = norm.running_mean + 1
print(list(norm.state_dict()), norm.eval()(x[:1]).tolist())
norm(x).sum()
m = nn.Linear(2, 1)
m(x).sum().backward()
m.zero_grad(set_to_none=False)
print(m.weight.grad, m.bias.grad)
