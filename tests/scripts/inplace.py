"""Updates in place inside compiled functions: captured, seen by every view, written back to inputs."""
import torch
from torch import nn


def check(f, *args, breaks=False):
    compiled = torch.compile(f, fullgraph=not breaks)
    for _ in range(2):
        ours, theirs = [a.clone() for a in args], [a.clone() for a in args]
        got, want = compiled(*ours), f(*theirs)
        assert (got is None) == (want is None), f.__name__
        if want is not None:
            assert torch.allclose(got, want), (f.__name__, got, want)
        for a, b in zip(ours, theirs):
            assert torch.equal(a, b), (f.__name__, a, b)


x = torch.arange(24.0).reshape(4, 6)


def own(x):
    y = x + 1
    y += 2
    y.mul_(3).clamp_(max=40)
    return y


def through_views(x):
    y = x * 1
    row, column = y[1], y[:, 2]
    row += 100
    column.mul_(-1)
    y[0, 1:4] = 7
    y[:, 0] = torch.tensor([1.0, 2.0, 3.0, 4.0]) if False else y[:, 1]
    y.t()[5] = 0
    y.view(2, 12)[1, 3] = -5
    return y + row.sum() + column.sum()


def strided(x):
    y = x.clone()
    y[::2, 1::3] += 50
    y.flatten()[4:20:5] = 9
    return y


def masked(x):
    y = x - 8
    y[y < 0] = 0
    y.masked_fill_(y > 10, 10)
    return y


def updates_input(x):
    x.add_(1)
    y = x * 2
    x[2] = 0
    return y - x


def returns_nothing(x, y):
    x.copy_(y)
    y.zero_()


def swaps(x, y):
    t = x.clone()
    x.copy_(y)
    y.copy_(t)
    return x - y


def loops(x):
    out = torch.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = x[i].cumsum(0)
    return out


def of_more_dimensions(x):
    out = x + 1
    out[0, 0] = x[1, :1] * 2
    out[1] = x[None, :1] * 3
    out[2:, [0, 1]] = x[None, None, 2:, :2] * 4
    return out


check(own, x)
check(of_more_dimensions, x)
check(through_views, x)
check(strided, x)
check(masked, x, breaks=True)
check(updates_input, x)
check(returns_nothing, x, x * 2)
check(swaps, x, x * 2)
check(loops, x)


class Averages(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('mean', torch.zeros(6))
        self.register_buffer('steps', torch.tensor(0))

    def forward(self, x):
        self.mean.mul_(0.9).add_(0.1 * x.mean(0))
        self.steps += 1
        return x - self.mean


a, b = Averages(), Averages()
fast = torch.compile(b, fullgraph=True)
for _ in range(3):
    assert torch.allclose(a(x), fast(x))
assert torch.allclose(a.mean, b.mean) and b.steps.item() == 3

norm, same = nn.BatchNorm1d(6), nn.BatchNorm1d(6)
fast = torch.compile(same)
for _ in range(3):
    assert torch.allclose(norm(x), fast(x), atol=1e-5)
assert torch.allclose(norm.running_mean, same.running_mean) and torch.allclose(norm.running_var, same.running_var)
norm.eval(), same.eval()
assert torch.allclose(norm(x), fast(x), atol=1e-5)

w = torch.ones(3, requires_grad=True)


@torch.compile
def grows(x):
    y = x * 2
    y += x
    y[0] = 5 * x[1]
    return y.sum()


grows(w).backward()
assert w.grad.tolist() == [0.0, 8.0, 3.0], w.grad


@torch.compile
def leaf(x):
    x += 1
    return x


try:
    leaf(w)
    assert False
except RuntimeError as e:
    assert 'leaf' in str(e)


@torch.compile
def parts(x):
    return x[1], x.t(), x.view(-1)[2:], x * 1, x


z = torch.zeros(3, 4)
for _ in range(2):
    row, turned, rest, copy, same = parts(z)
    row += 1
    turned[0, 2] = 5
    rest[0] = 7
    copy += 100
    assert same is z and row.shape == (4,) and z[1].sum() == 4 + 4 * _ and z[2, 0] == 5 and z[0, 2] == 7
print('fine')


@torch.compile
def set_looked_up(x, i):
    y = x * 2
    y[i] = 1.5
    y[i, 0] += x[i, 0]
    y[y > 20] = -1
    return y


print(set_looked_up(torch.arange(12.0).reshape(4, 3), torch.tensor([2, 0])).tolist())


def diagonals(x):
    t = x * 1
    v, w, turned, windows = t.diagonal(), t.diagonal(1), t.mT.diagonal(1), t.unfold(1, 2, 1)
    t.add_(1)
    after = [v * 2, w * 2, turned * 2, windows * 2]
    v.fill_(9.0)
    torch.linalg.diagonal(t, offset=-1).mul_(3)
    both = torch.stack([t, t])
    torch.linalg.diagonal(both).add_(0.5)
    both.diagonal(0, 0, 1)[1] += 100
    return *after, t, both, w


for f in (diagonals, torch.compile(diagonals)):
    print([found.tolist() for found in f(torch.arange(9.0).reshape(3, 3))])

g = torch.arange(12.0).reshape(3, 4).requires_grad_()
(g.diagonal(1) * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
g.unfold(1, 2, 1).sum().backward()
print(g.grad.tolist())
