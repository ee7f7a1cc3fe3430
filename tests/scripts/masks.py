"""Rows that a mask picks out, in compiled functions: in one graph where their number is not asked for."""
import torch
import torch.nn as nn
import torch.nn.functional as F


@torch.compile
def masked_loss(logits, labels):
    valid = labels != 0
    return F.cross_entropy(logits[valid], labels[valid])


@torch.compile
def kept(x):
    s = x[x > 0]
    return s * 2, s.sum()


@torch.compile
def shape(x):
    s = x[x > 0]
    n = s.shape[0]
    return s.sum() / n


@torch.compile
def update(x, y):
    m = x > 1
    x[m] = y[m] * 2
    return x.sum()


torch.manual_seed(0)
logits = torch.linspace(-1, 1, 24).reshape(2, 3, 4).requires_grad_()
labels = torch.tensor([[1, 0, 3], [2, 1, 0]])
for _ in range(2):
    loss = masked_loss(logits, labels)
    loss.backward()
    print(round(loss.item(), 5), [round(v, 5) for v in logits.grad.flatten().tolist()])
    logits.grad = None
x = torch.arange(-3., 4.)
for _ in range(2):
    a, b = kept(x)
    print(a, b, a.shape)
    print(shape(x))
z = torch.arange(4.)
print(update(z, torch.full((4,), 5.)), z)
print(update(z, torch.full((4,), 5.)), z)


@torch.compile
def several(x, y):
    m = x > 0
    p = x[m]
    q = y[m]
    if x.shape[0] > 3:
        p = p + q
    r = p.mean()
    w = p[:2]
    return r, w


print(several(x, x * 3))
print(several(x[:3] + 2.5, x[:3]))
