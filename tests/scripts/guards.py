"""What is guarded: types, constants, lengths, attributes, globals, closures, tensors, and nothing else."""
from enum import Enum

import torch
from torch import nn

graphs = 0


def counted(f):
    compiled = torch.compile(f)

    def run(*args, **kwargs):
        want, got = f(*args, **kwargs), compiled(*args, **kwargs)
        assert torch.allclose(want, got), (want, got)
        return got
    return run


x = torch.arange(4.0)

scale = 2


@counted
def reads_global(x):
    return x * scale


reads_global(x)
scale = 3
reads_global(x)


class Config:
    eps = 0.5

    def __init__(self):
        self.power = 2
        self.steps = [1, 2]


c = Config()


@counted
def reads_object(x, c):
    y = x ** c.power + c.eps
    for s in c.steps:
        y = y * s
    return y


reads_object(x, c)
c.power = 3
reads_object(x, c)
c.steps.append(5)
reads_object(x, c)
c.steps[0] = 7
reads_object(x, c)
Config.eps = 1.5
reads_object(x, c)


@counted
def takes_anything(*args, k=1, **more):
    y = args[0] * k
    for v in args[1:]:
        y = y + v
    for name in more:
        y = y + more[name]
    return y


takes_anything(x)
takes_anything(x, x)
takes_anything(x, x, k=2)
takes_anything(x, 3, k=2, a=x, b=1.5)


def maker(n):
    def add(x):
        return x + n
    return add


add2, add5 = counted(maker(2)), counted(maker(5))
assert add2(x)[0] == 2 and add5(x)[0] == 5


@counted
def shapes(x):
    return x.sum(0) if x.ndim > 1 else x


shapes(x)
shapes(x.reshape(2, 2))
shapes(x.reshape(2, 2).t())
shapes(x.to(torch.float64))
shapes(x.to(torch.bfloat16))


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = self.linear(x)
        return y * 2 if self.training else y


m = Counter()
f = torch.compile(m)
for i in range(5):
    assert torch.allclose(f(x), 2 * m.linear(x))
assert m.calls == 5, m.calls
m.eval()
assert torch.allclose(f(x), m.linear(x))
assert m.calls == 6, m.calls


@torch.compile
def same_twice(a, b):
    return a + 2 * b


y = torch.ones(4)
assert torch.equal(same_twice(x, x), 3 * x)
assert torch.equal(same_twice(x, y), x + 2 * y)
assert torch.equal(same_twice(y, y), 3 * y)


@torch.compile
def grad_mode(x):
    return x * 2 if torch.is_grad_enabled() else x * 3


assert torch.equal(grad_mode(x), 2 * x)
with torch.no_grad():
    assert torch.equal(grad_mode(x), 3 * x)
assert torch.equal(grad_mode(x), 2 * x)

hits = 0


@torch.compile
def writes_global(x):
    global hits
    hits = hits + 1
    return x + hits


assert torch.equal(writes_global(x), x + 1)
assert torch.equal(writes_global(x), x + 2)
assert hits == 2
print('fine')


# Which object it is: members of an enum, sentinels.
class Kind(Enum):
    ADD = 0
    SUB = 1


first, second = nn.Identity(), nn.Identity()


@torch.compile
def by_identity(x, kind, other):
    y = x + 1 if kind is Kind.ADD else x - 1
    y = y * 2 if kind == Kind.ADD else y * 3
    y = y + 10 if kind in (Kind.ADD, None) else y
    return y * {Kind.ADD: 1, Kind.SUB: 2}[kind] + (100 if other is first else 0)


x = torch.ones(1)
assert [by_identity(x, k, o).item() for k in (Kind.ADD, Kind.SUB, Kind.ADD) for o in (first, second, first)] == [
    114.0, 14.0, 114.0, 100.0, 0.0, 100.0, 114.0, 14.0, 114.0]
