"""Attributes that are not there yet, functions made again: what a compiled function must look at again."""
import torch
class A: pass
a = A(); a.x = 1
@torch.compile
def f(t, o):
    r = t * 1
    if hasattr(o, 'y'): r = r + 10
    r = r + getattr(o, 'z', 100)
    try: r = r + o.q
    except AttributeError: r = r - 1
    return r + len(o.__dict__) * 0
@torch.compile
def g(t, o): return t + (10 if hasattr(o, 'y') else 0)
@torch.compile
def h(t, o): return t + getattr(o, 'z', 100)
@torch.compile
def k(t, o):
    try: return t + o.q
    except AttributeError: return t - 1
@torch.compile
def m(t, o): return t * (o.__dict__.get('w', 3))
@torch.compile
def n(t, o): return t * isinstance(o, A)
for fn in (f, g, h, k, m): print(fn(torch.ones(1), a))
a.y = 2
for fn in (f, g, h, k, m): print(fn(torch.ones(1), a))
a.z = 5
for fn in (f, g, h, k, m): print(fn(torch.ones(1), a))
a.q = 7
for fn in (f, g, h, k, m): print(fn(torch.ones(1), a))
a.w = 7
for fn in (f, g, h, k, m): print(fn(torch.ones(1), a))
print(n(torch.ones(1), a), n(torch.ones(1), 3))
A.y = 3
b = A()
for fn in (f, g, h, k, m): print(fn(torch.ones(1), b))
def mk(extra):
    def inner(x, s=extra): return x * s
    return inner
@torch.compile
def call(fn, x): return fn(x)
print(call(mk(2), torch.ones(1)), call(mk(3), torch.ones(1)))
def clos(c):
    return lambda x: x + c
print(call(clos(2), torch.ones(1)), call(clos(3), torch.ones(1)))
import functools
print(call(functools.partial(mk(2), s=4), torch.ones(1)), call(functools.partial(mk(2), s=6), torch.ones(1)))
@torch.compile
def dflt(x, n=[1]): return x * len(n) * sum(n)
print(dflt(torch.ones(1)), dflt(torch.ones(1), [2, 2]), dflt(torch.ones(1), (2, 3)))
@torch.compile
def st(x, s): return x * {'a': 1, 'b': 2}.get(s, 9)
print(st(torch.ones(1), 'a'), st(torch.ones(1), 'b'), st(torch.ones(1), 'c'))
@torch.compile
def none(x, y): return x if y is None else x + y
print(none(torch.ones(1), None), none(torch.ones(1), torch.ones(1)), none(torch.ones(1), 2), none(torch.ones(1), 2.5), none(torch.ones(1), True))
@torch.compile
def rg(x): return x.requires_grad, x.is_contiguous(), x.stride(), x.device.type, x.is_leaf, x.grad is None, x.T.shape
print(rg(torch.ones(2, 3)), rg(torch.ones(2, 3, requires_grad=True)), rg(torch.ones(3, 2).t()))
@torch.compile
def same(x, y): return x.add_(1) + y
u = torch.ones(1); print(same(u, u), same(u, torch.ones(1)), same(torch.ones(1), torch.ones(1)))
@torch.compile
def tup(x, t):
    a, *b = t
    return x * a, len(b)
print(tup(torch.ones(1), (1, 2)), tup(torch.ones(1), (1, 2, 3)), tup(torch.ones(1), [4]))
