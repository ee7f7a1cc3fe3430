"""Containers of modules and parameters, and what a module says of them."""
from collections import OrderedDict

import torch
import torch.nn as nn


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3, bias=False)
        self.b.weight = self.a.weight
        self.c = self.a
        self.register_buffer('mean', torch.zeros(2))
        self.w = nn.Parameter(torch.ones(2))


m = Shared()
print(sum(p.numel() for p in m.parameters()), len(set(id(p) for p in m.parameters())))
print([n for n, _ in m.named_parameters()], [n for n, _ in m.named_parameters(remove_duplicate=False)])
print([n for n, _ in m.named_parameters(recurse=False)], [n for n, _ in m.named_parameters(prefix='x')])
print([n for n, _ in m.named_modules()], [n for n, _ in m.named_children()], list(m._modules))
print(list(m.state_dict().keys()), list(m._parameters), list(m._buffers), [n for n, _ in m.named_buffers()])

s = nn.Sequential()
s.add_module('fc', nn.Linear(3, 4))
s.act = nn.ReLU()
print(s(torch.ones(2, 3)).shape, s.fc.out_features, len(s), s[0] is s.fc, s)
s = nn.Sequential(OrderedDict([('fc1', nn.Linear(3, 4)), ('act', nn.ReLU()), ('fc2', nn.Linear(4, 2))]))
print(s.fc1.out_features, [n for n, _ in s.named_parameters()], s[1:], hasattr(s, 'fc3'))
s = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
s.insert(1, nn.Linear(4, 4))
s[2] = nn.Tanh()
print(len(s.extend([nn.Identity()])), s, s.pop(0).in_features, len(s))

l = nn.ModuleList([nn.Linear(2, 2)])
l += [nn.Linear(2, 3)]
l.insert(0, nn.ReLU())
l[0] = nn.Tanh()
print(l, len(l + [nn.ReLU()]), [type(m).__name__ for m in l[1:]])
del l[0]
print([n for n, _ in l.named_parameters()])

d = nn.ModuleDict([['relu', nn.ReLU()], ['tanh', nn.Tanh()]])
d.update({'fc': nn.Linear(2, 2)})
print(d, type(d.pop('relu')).__name__, list(d), 'relu' in d, d.fc is d['fc'])


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterList([nn.Parameter(torch.ones(i + 1)) for i in range(3)])
        self.q = nn.ParameterDict({'l': nn.Parameter(torch.ones(2)), 'r': torch.zeros(1)})


m = Lists()
m.p.extend([torch.ones(9)])
print([n for n, _ in m.named_parameters()], len(m.p[:2]), m.p[-1].shape, sorted(m.q.keys()))


class Walks(nn.Module):
    """Forward over tables that belong to PyTorch, in a compiled module."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Identity(), nn.ReLU()
        self.w = nn.Parameter(torch.arange(3.0))
        self._modules['third'] = nn.Identity()

    def forward(self, x):
        for name, module in self._modules.items():
            x = module(x) + len(name)
        return x * self._parameters['w']


print(torch.compile(Walks())(torch.tensor([-9.0, 0.0, 1.0])).detach(), list(Walks()._modules))

# what is put into a module's tables is one of its kind
m = nn.Module()
m._buffers['count'] = torch.zeros(2)
m._parameters['w'] = nn.Parameter(torch.ones(3))
m._modules['part'] = nn.Linear(1, 1)
print([n for n, _ in m.named_buffers()], [n for n, _ in m.named_parameters()], list(m._modules))
del m._buffers['count'], m._parameters['w'], m._modules['part']
print(list(m.state_dict()), hasattr(m, 'count'))
