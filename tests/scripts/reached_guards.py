"""What a compiled function reads of its arguments, in all ways there are, again with other ones: what it returns is what the
function itself returns."""
import functools

import torch
import torch._dynamo

a, b, c, d = [torch.full((2,), float(i)) for i in range(4)]
class P:
    def __init__(self, **k): self.__dict__.update(k)
    def __len__(self): return self.n
    def __getitem__(self, i): return self.items[i]
    def __iter__(self): return iter(self.items)
    def __eq__(self, o): return self.n == o.n
    def __hash__(self): return self.n
    def __bool__(self): return self.n > 0
    def __call__(self, x): return x * self.n
    def __contains__(self, k): return k in self.items
    def __add__(self, o): return self.n + o
    @property
    def p(self): return self.n * 2
    @classmethod
    def k(cls): return cls.kk
    kk = 1
def plain(v):
    if isinstance(v, torch.Tensor): return ['t', list(v.shape), v.detach().double().mul(1000).round().tolist()]
    if isinstance(v, (tuple, list)): return [plain(u) for u in v]
    if isinstance(v, dict): return {k: plain(u) for k, u in v.items()}
    return v
def same(f, *calls):
    torch._dynamo.reset()
    g = torch.compile(f)
    for k, call in enumerate(calls):
        try: w = plain(f(*call))
        except Exception as e: w = type(e).__name__
        try: o = plain(g(*call))
        except Exception as e: o = type(e).__name__ + str(e)[:60] if w != type(e).__name__ else w
        assert o == w, (f, k, call, o, w)
G = [1, 2]
GD = {'a': 1}
same(lambda x, i: x * sum(i), (a, [1, 2]), (a, [2, 5]), (b, (1, 2)), (b, (4, 2)))
same(lambda x, i: [x * max(i), x * min(i), len(i)], (b, [1, 2]), (b, [2, 5]), (b, [2, 5, 9]))
same(lambda x, i: x * (3 if any(i) else 2), (b, [0, 0]), (b, [0, 1]))
same(lambda x, i: x * (3 if all(i) else 2), (b, [0, 1]), (b, [1, 1]))
same(lambda x, i: x * sorted(i)[0], (b, [3, 1]), (b, [5, 4]))
same(lambda x, i: x * list(map(lambda q: q + 1, i))[0], (b, [3, 1]), (b, [5, 4]))
same(lambda x, i: x * list(filter(None, i))[0], (b, [3, 1]), (b, [0, 4]))
same(lambda x, i: x * [p * q for p, q in zip(i, i[1:])][0], (b, [3, 1]), (b, [0, 4]))
same(lambda x, i: x * [p * q for p, q in enumerate(i)][1], (b, [3, 1]), (b, [0, 4]))
same(lambda x, i: x * i.get('q', 7), (b, {}), (b, {'q': 2}), (b, {'q': 3}))
same(lambda x, i: [x * v for k, v in i.items()], (b, {'a': 1}), (b, {'a': 2}), (b, {'b': 2}))
same(lambda x, i: x * len(i), (b, {'a': 1}), (b, {'a': 2, 'b': 3}), (b, 'abc'), (b, {1, 2, 3, 4}))
same(lambda x, i: x * (2 if 'a' in i else 3), (b, {'a': 1}), (b, {'b': 3}), (b, ['a']), (b, ['b']), (b, 'a'), (b, 'b'))
same(lambda x, i: x * i.n, (b, P(n=1)), (b, P(n=2)))
same(lambda x, i: x * len(i), (b, P(n=1)), (b, P(n=2)))
same(lambda x, i: x * i[0], (b, P(items=[1])), (b, P(items=[2])))
same(lambda x, i: x * (3 if i else 2), (b, P(n=0)), (b, P(n=2)))
same(lambda x, i: i(x), (b, P(n=0)), (b, P(n=2)))
same(lambda x, i: x * (i == P(n=1)), (b, P(n=1)), (b, P(n=2)))
same(lambda x, i: x * i.p, (b, P(n=1)), (b, P(n=2)))
same(lambda x, i: x * (i + 1), (b, P(n=1)), (b, P(n=2)))
same(lambda x, i: x * list(i)[0], (b, P(items=[1])), (b, P(items=[2])))
same(lambda x, i: x * (2 if 1 in i else 3), (b, P(items=[1])), (b, P(items=[2])))
same(lambda x, i: x * getattr(i, 'n', 5), (b, P(n=1)), (b, P(n=2)), (b, P()))
same(lambda x, i: x * (2 if hasattr(i, 'n') else 3), (b, P(n=1)), (b, P()))
same(lambda x, i: x * (2 if isinstance(i, int) else 3), (b, 1), (b, 1.0), (b, True))
same(lambda x, i: x * (2 if type(i) is int else 3), (b, 1), (b, 1.0), (b, True))
same(lambda x, i: x * vars(i)['n'], (b, P(n=1)), (b, P(n=2)))
same(lambda x, i: x * {**i}['n'], (b, dict(n=1)), (b, dict(n=2)))
same(lambda x, i: x * (lambda **k: k['n'])(**i), (b, dict(n=1)), (b, dict(n=2)))
same(lambda x, i: x * (lambda *k: k[-1])(*i), (b, [1, 2]), (b, [1, 3]), (b, [1, 3, 4]))
same(lambda x, i: x * int(i), (b, '2'), (b, '3'), (b, 2.5), (b, 3.5))
same(lambda x, i: x * float(i), (b, '2'), (b, '3'), (b, 2), (b, 3))
same(lambda x, i: x * i.count('a'), (b, 'aa'), (b, 'baaa'))
same(lambda x, i: x * len(i.split(',')), (b, 'a,a'), (b, 'b,aaa,3'))
same(lambda x, i: x * int(i.strip() == 'a'), (b, ' a'), (b, 'b'))
same(lambda x, i: x.to(i), (b, torch.float64), (b, torch.int32), (b, torch.float32))
same(lambda x, i: x.to(getattr(torch, i)), (b, 'float64'), (b, 'int32'))
same(lambda x, i: x * i, (b, 2), (b, 3), (b, 4), (b, 1.5), (b, 2.5), (b, True))
same(lambda x, i: x + i.sum(), (b, a), (b, torch.ones(3)), (b, torch.ones(2, 2)), (b, torch.ones(2, 2, dtype=torch.int32)))
same(lambda x, i: x * (i.shape[0] > 2), (b, a), (b, torch.ones(3)), (b, torch.ones(2, 2)))
same(lambda x, i: x * i.dim(), (b, a), (b, torch.ones(3)), (b, torch.ones(2, 2)))
same(lambda x, i: x * (2 if i.dtype == torch.float32 else 3), (b, a), (b, a.double()))
same(lambda x, i: x * (2 if i.is_contiguous() else 3), (b, torch.ones(2, 3)), (b, torch.ones(3, 2).t()))
same(lambda x, i: x * (2 if i.requires_grad else 3), (b, torch.ones(2, 3)), (b, torch.ones(2, 3, requires_grad=True)))
same(lambda x, i: x * (2 if i is x else 3), (b, b), (b, c))
same(lambda x, i: x * (2 if i is None else 3), (b, None), (b, 1))
same(lambda x, i: x * i.stride(0), (b, torch.ones(2, 3)), (b, torch.ones(2, 4)), (b, torch.ones(3, 2).t()))
same(lambda x, i: x * i[0][0], (b, [[1]]), (b, [[2]]), (b, ((3,),)))
same(lambda x, i: x * i['a']['b'], (b, {'a': {'b': 1}}), (b, {'a': {'b': 2}}))
same(lambda x, i: x * i['a'][1], (b, {'a': [0, 1]}), (b, {'a': [0, 2]}))
same(lambda x, i: x * (i or 5), (b, 0), (b, 2), (b, None), (b, []) )
same(lambda x, i: x * (5 if not i else 1), (b, []), (b, [1]), (b, {}), (b, {1: 1}), (b, ''), (b, 'a'))
same(lambda x, i: x * (5 if i == [1, 2] else 1), (b, [1, 2]), (b, [1, 3]))
same(lambda x, i: x * (5 if i < (1, 2) else 1), (b, (1, 1)), (b, (1, 3)))
same(lambda x, i: x * (5 if i == {'a': 1} else 1), (b, {'a': 1}), (b, {'a': 2}))
same(lambda x, i: x * [*i, 3][0], (b, [1]), (b, [2]))
same(lambda x, i: x * (lambda p, *q: p + len(q))(*i), (b, [1]), (b, [2, 3]))
def unpack(x, i):
    p, *q = i
    return x * p + len(q)
same(unpack, (b, [1]), (b, [2, 3]))
same(lambda x, i: x * next(iter(i)), (b, [1]), (b, [2, 3]))
same(lambda x, i: x * next(iter(i.values())), (b, {'a': 1}), (b, {'a': 2}))
same(lambda x, i: x * i.index(2), (b, [1, 2]), (b, [2, 3]))
same(lambda x, i: x * i.count(2), (b, [1, 2]), (b, [2, 2]))
same(lambda x, i: x * (i * 2)[1], (b, [1, 2]), (b, [2, 7]))
same(lambda x, i: x * i[-1], (b, [1, 2]), (b, [2, 7]), (b, [2, 7, 8]))
same(lambda x, i: x * i[1:][0], (b, [1, 2]), (b, [2, 7]))
same(lambda x, i: x * i[::-1][0], (b, [1, 2]), (b, [2, 7]))
same(lambda x, i: x * i.start, (b, slice(1, 2)), (b, slice(3, 4)))
same(lambda x, i: x * i.stop, (b, range(2)), (b, range(3)))
same(lambda x, i: [x * k for k in i], (b, range(2)), (b, range(3)), (b, range(1, 3)))
same(lambda x, i: x * len(i), (b, range(2)), (b, range(3)))
same(lambda x, i: i[0](x), (b, [torch.sin]), (b, [torch.cos]))
same(lambda x, i: i(x), (b, torch.sin), (b, torch.cos), (b, lambda x: x + 1), (b, lambda x: x + 2))
def maker(k): return lambda x: x + k
same(lambda x, i: i(x), (b, maker(1)), (b, maker(2)))
def maker2(k):
    def f(x, q=k): return x + q
    return f
same(lambda x, i: i(x), (b, maker2(1)), (b, maker2(2)))
same(lambda x, i: i(x), (b, maker2([1])), (b, maker2([2])))
same(lambda x, i: i(x), (b, functools.partial(torch.add, other=1)), (b, functools.partial(torch.add, other=2)))
same(lambda x, i: i(x), (b, functools.partial(maker(1))), (b, functools.partial(maker(2))))
lin1, lin2 = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
same(lambda x, i: i(x), (b, lin1), (b, lin2))
same(lambda x, i: i[0](x), (b, [lin1]), (b, [lin2]), (b, torch.nn.Sequential(lin1)), (b, torch.nn.Sequential(lin2)))
same(lambda x, i: i(x), (b, torch.nn.Sequential(lin1)), (b, torch.nn.Sequential(lin2)), (b, torch.nn.Sequential(lin2, lin1)), (b, torch.nn.Sequential(lin1, torch.nn.ReLU())), (b, torch.nn.Sequential(lin1, torch.nn.Tanh())))
dr = torch.nn.LayerNorm(2); dr2 = torch.nn.LayerNorm(2, eps=1.0)
same(lambda x, i: i(x), (torch.arange(2.), dr), (torch.arange(2.), dr2))
def glob(x): return x * G[0] + GD['a'] + P.kk
h = torch.compile(glob)
for k in range(3):
    assert plain(h(b)) == plain(glob(b)), ('WRONG global', k)
    G[0] += 1
    assert plain(h(b)) == plain(glob(b)), ('WRONG global', k)
    GD['a'] += 1
    assert plain(h(b)) == plain(glob(b)), ('WRONG globald', k)
    P.kk += 1
    assert plain(h(b)) == plain(glob(b)), ('WRONG class attr', k)
def meth(x): return x * P.k() + torch.cat([t for t in TS]).sum() + torch.stack(TS).sum() + torch.cat(TS).sum()
TS = [a, b]
h = torch.compile(meth)
for k in range(3):
    assert plain(h(b)) == plain(meth(b)), ('WRONG list global', k)
    TS[0] = TS[0] + 1
    assert plain(h(b)) == plain(meth(b)), ('WRONG list item', k)
    TS.append(c)
    assert plain(h(b)) == plain(meth(b)), ('WRONG list len', k)
    P.kk += 1
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.shape, self.k, self.l, self.buf = (2, 1), 1, [1, 2], torch.ones(2)
        self.w = torch.nn.Parameter(torch.ones(2))
        self.fn = torch.sin
    def forward(self, x):
        return (self.fn(x) * self.k + sum(self.l) + self.buf + self.w).reshape(self.shape) + torch.full(self.shape, 1.0)
mod = M()
h = torch.compile(mod)
for k, ch in enumerate([lambda: setattr(mod, 'shape', (1, 2)), lambda: setattr(mod, 'k', 3), lambda: mod.l.append(4), lambda: mod.l.__setitem__(0, 9), lambda: setattr(mod, 'buf', torch.ones(2) * 3), lambda: mod.buf.mul_(2), lambda: setattr(mod, 'w', torch.nn.Parameter(torch.ones(2) * 4)), lambda: setattr(mod, 'fn', torch.cos), lambda: setattr(mod, 'shape', [2]), lambda: mod.shape.append(1)]):
    with torch.no_grad():
        h(b); ch()
        assert plain(h(b)) == plain(mod(b)), ('WRONG module', k)


class Q:
    kk = 1

    @classmethod
    def k(cls):
        return cls.kk

    @staticmethod
    def s():
        return Q.kk

    def m(self):
        return self.kk

    @property
    def p(self):
        return type(self).kk


q = Q()
fs = [lambda x: x * Q.k(), lambda x: x * Q.s(), lambda x: x * q.m(), lambda x: x * q.p, lambda x: x * q.k(), lambda x: x * type(q).kk,
      lambda x: x * q.__class__.kk]
hs = [torch.compile(f) for f in fs]
for k in range(3):
    for i, (h, f) in enumerate(zip(hs, fs)):
        assert plain(h(b)) == plain(f(b)), (i, k)
    Q.kk += 1
