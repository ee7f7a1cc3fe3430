"""Which results of a compiled function require gradients, and where these flow."""
import torch
x = torch.ones(2, requires_grad=True)
@torch.compile
def f(x):
    with torch.no_grad():
        y = x * 2
    z = x.detach() + 1
    return y, z, x * 3, (x > 0), x.sum().item() if False else x.shape, (x * 1).round()
print([o.requires_grad for o in f(x) if isinstance(o, torch.Tensor)])
with torch.no_grad(): print([o.requires_grad for o in f(x) if isinstance(o, torch.Tensor)])
@torch.compile
def g(x):
    with torch.enable_grad():
        return x * 2
with torch.no_grad():
    y = g(x); print(y.requires_grad)
y.sum().backward(); print(x.grad)
@torch.compile
def h(x, w):
    a = x * w
    b = a.detach()
    return a, b, (a * b).sum()
x.grad = None
a, b, l = h(x, torch.full((2,), 3.))
print(a.requires_grad, b.requires_grad, l.requires_grad); l.backward(); print(x.grad)
with torch.no_grad():
    print([o.requires_grad for o in h(x, torch.ones(2))])
@torch.compile
def upd(p, g):
    with torch.no_grad():
        p -= g
    return p, p * 2
p, q = upd(x, torch.ones(2)); print(p is x, p.requires_grad, p.is_leaf, x)
@torch.compile
def ema(avg, p):
    avg.mul_(.9).add_(p.detach(), alpha=.1); return avg
av = torch.zeros(2); print(ema(av, x).requires_grad, av.requires_grad)
lin = torch.nn.Linear(2, 1)
@torch.compile
def net(v): return lin(v)
for q in lin.parameters(): q.requires_grad_(False)
print(net(torch.ones(1, 2)).requires_grad)
lin.bias.requires_grad_(True); print(net(torch.ones(1, 2)).requires_grad)

# a tensor of another's shape is a leaf
w = torch.ones(2, requires_grad=True)
y = w * w
t = torch.ones_like(y)
print(t.requires_grad, t.is_leaf, torch.zeros_like(w, requires_grad=True).requires_grad)
y.sum().backward()
with torch.no_grad():
    w -= 1
((w - torch.ones_like(y)) ** 2).sum().backward(); print(w.grad)
@torch.compile
def like(w):
    t = torch.full_like(w, 2.)
    return t.requires_grad, t * 3, t * w
a, b, c = like(w); print(a, b.requires_grad, c.requires_grad)
