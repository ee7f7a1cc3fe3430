"""Random numbers in compiled functions: the same as outside, new at every call, reproducible under a seed."""
import torch
import torch.nn.functional as F
from torch import nn


def noisy(x):
    return x + torch.rand(4) * torch.randn_like(x)


def drop(x):
    return F.dropout(x, 0.5, True) + 1


x = torch.ones(4)
for f in (noisy, drop):
    compiled = torch.compile(f)
    for seed in (0, 1):
        torch.manual_seed(seed)
        want = [f(x) for _ in range(3)]
        torch.manual_seed(seed)
        got = [compiled(x) for _ in range(3)]
        for w, g in zip(want, got):
            assert torch.allclose(w, g, atol=1e-6), (f.__name__, w, g)
assert not torch.equal(want[0], want[1]) or not torch.equal(want[1], want[2])

w = torch.ones(64, requires_grad=True)
compiled = torch.compile(drop)
y = compiled(w)
y.sum().backward()
assert torch.equal(w.grad, y.detach() - 1)

net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))
fast = torch.compile(net)
x = torch.ones(3, 8)
assert not torch.equal(fast(x), fast(x))
net.eval()
assert torch.equal(fast(x), fast(x)) and torch.allclose(fast(x), net(x))
