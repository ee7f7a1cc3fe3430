import torch
a = b, *c = 1, 2, 3
x = [i ** 2 if i & 1 else ~i for i in range(-3, 10) for j in (1,) if i != 4]
d = {k: v for k, v in zip("abc", x)}
s = {1, 2} | {3}
g = sum(i for i in x)
class C:
    k = 1
    def __init__(self, v=0): self.v = v
    @property
    def w(self): return self.v + C.k
    @staticmethod
    def f(*a, **k): return a, k
    def __getitem__(self, i): return i
def outer():
    n = 0
    def inner():
        nonlocal n
        n += 1
        return n
    return inner
f = outer(); f()
while True:
    if f() > 5: break
else:
    pass
for q in reversed(sorted(x, key=lambda t: -t)):
    continue
with_str = 'a\n\x41\u00e9' "b" r'\d' f"{f()!s}{{}}{C(3).w:>5}"
assert C.f(1, k=2) == ((1,), {"k": 2}), "no"
del d["a"]
print(x[-1], x[::2], C()[1:2, ...])
global_lambda = lambda p, /, q=1, *r, s, **t: (p, q, r, s, t)
def statements(x):
    return x
def get_inputs():
    return [torch.zeros(2)]
