"""What is no gradient is refused where it is handed over: by backward(), a hook, a Function, or as x.grad. And what __index__
changes behind a list's back, types that are none, entries taken out of a module's tables."""
import torch
from torch import nn


def raises(kind, f, *args):
    try:
        f(*args)
    except kind:
        return True
    return False


def hooked(to):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: to)
    y.sum().backward()
    return x.grad.tolist()


def leaf_hooked(to):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: to)
    (x * 2).sum().backward()


for f in (hooked, leaf_hooked):
    for to in (5, 'a', [torch.ones(2)]):
        assert raises(TypeError, f, to)
    for to in (torch.ones(3), torch.ones(1), torch.ones(2).double()):
        assert raises(RuntimeError, f, to)
assert hooked(torch.full((2,), 3.0)) == [6.0, 6.0] and hooked(None) == [2.0, 2.0]


def back(tangent):
    x = torch.ones(2, 3, requires_grad=True)
    (x * 2).backward(tangent)
    return x.grad


for shape in ((3,), (3, 2), (1, 3), (2, 1), ()):
    assert raises(RuntimeError, back, torch.ones(shape))
for kind in (torch.float64, torch.float16, torch.int64):
    grad = back(torch.ones(2, 3, dtype=kind))
    assert grad.dtype == torch.float32 and grad.tolist() == [[2.0] * 3] * 2


class Odd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return result


def odd():
    x = torch.ones(2, requires_grad=True)
    Odd.apply(x).sum().backward()
    return x.grad


for result in (5, torch.ones(3), (torch.ones(2), torch.ones(2)), ()):
    assert raises(RuntimeError, odd)
result = (torch.ones(2).double(), None)
assert odd().dtype == torch.float32

x = torch.ones(2, requires_grad=True)
for wrong, kind in ((torch.ones(3), RuntimeError), (torch.ones(2).double(), RuntimeError), (5, TypeError)):
    assert raises(kind, setattr, x, 'grad', wrong)
x.grad = torch.ones(2)
x.grad = None


class Index:
    """An index at whose use the list changes."""

    def __init__(self, items, value, change):
        self.items, self.value, self.change = items, value, change

    def __index__(self):
        self.change(self.items)
        return self.value


def clear(items):
    items.clear()


def listed(use):
    items = list(range(10))
    return use(items, lambda value: Index(items, value, clear)), items


def put(items, i):
    items[i(2):8] = [1, 2, 3]


def put_steps(items, i):
    items[::i(2)] = [1] * 5


def take(items, i):
    del items[i(2):8]


def put_from(items, i):
    items[2:8] = (items.clear() or k for k in range(2))


assert listed(lambda items, i: items[i(2):]) == ([], []) and listed(lambda items, i: items[0:i(8):1]) == ([], [])
assert listed(put) == (None, [1, 2, 3]) and listed(take) == (None, []) and raises(ValueError, listed, put_steps)
assert listed(put_from) == (None, [0, 1])
assert raises(IndexError, listed, lambda items, i: items[i(5)])
assert raises(IndexError, listed, lambda items, i: items.__setitem__(i(5), 3))
items = list(range(3))
assert items[Index(items, 1, lambda items: items.extend(range(3))):] == [1, 2, 0, 1, 2]

for kinds in ((1,), (str, 1), ((str,), 5), 5, None):
    assert raises(TypeError, isinstance, 1.5, kinds) and raises(TypeError, issubclass, float, kinds)
assert isinstance(1, (int, 1)) and not isinstance(1.5, ())

m = nn.Linear(2, 2)
del m._parameters['bias']
assert [name for name, _ in m.named_parameters()] == ['weight'] and not hasattr(m, 'bias')
assert m._parameters.pop('weight').shape == (2, 2) and not list(m.parameters())
assert raises(KeyError, m._parameters.pop, 'weight') and m._parameters.pop('weight', None) is None
m = nn.BatchNorm1d(2)
del m._buffers['running_mean']
assert [name for name, _ in m.named_buffers()] == ['running_var', 'num_batches_tracked']
m = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
del m._modules['1']
assert [name for name, _ in m.named_children()] == ['0', '2'] and m(torch.ones(1, 2)).shape == (1, 2)
g = torch.Generator()
if hasattr(g, '_stream'):  # what it is here, and no program's to set
    g._stream = 5
    assert raises(TypeError, lambda: torch.rand(2, generator=g))
