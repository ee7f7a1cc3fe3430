"""Rows and columns that are looked up are set, in place: the last of those that are the same counts."""
import torch

@torch.compile
def rows(x, at, v):
    x = x.clone()
    x[:, at] = v
    return x

@torch.compile
def ends(x, at, v):
    x = x * 1
    x[..., at] = v[:3]
    x[at, :] = 7
    return x

@torch.compile
def cut(x, at, v):
    x = x * 1
    x[1:, at] = v[1:]
    return x

x = torch.arange(20.0).view(4, 5)
at = torch.tensor([1, -1, 1])
v = torch.arange(12.0).view(4, 3) + 100
print(rows(x, at, v))
print(rows(x, at, torch.tensor(3.0)))
print(ends(x, torch.tensor([2, 0, -2]), torch.arange(3.0)))
print(cut(x, at, v))
print(rows(x, at, torch.arange(3.0, dtype=torch.float32)))
y = torch.arange(20, dtype=torch.int32).view(4, 5)
print(rows(y, at.to(torch.int32), torch.full((4, 3), 9, dtype=torch.int32)))
w = torch.ones(4, 3, requires_grad=True)
z = torch.ones(4, 5, requires_grad=True)
(rows(z, torch.tensor([3, 1, 0]), w) * x).sum().backward()
print(w.grad, z.grad)
w = torch.ones(4, 3, requires_grad=True)
z = torch.ones(4, 5, requires_grad=True)
(rows(z, at, w) * x).sum().backward()
print(w.grad, z.grad)
@torch.compile
def doubled(x, at, w):
    x = x * 1
    x[:, at] = w * 2
    return x
w = torch.ones(4, 3, requires_grad=True)
(doubled(x, at, w) * x).sum().backward()
print(w.grad)
w = torch.ones(4, 1, requires_grad=True)
(doubled(x, at[1:2], w) * x).sum().backward()
print(w.grad)
