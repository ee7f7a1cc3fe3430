"""Sizes: static first, symbolic when they change, by mark_dynamic, and by dynamic=True; 0 and 1 stay numbers."""
import torch
import torch.nn.functional as F


def rows(x):
    return F.softmax(x, dim=-1) * x.shape[0]


auto = torch.compile(rows)
for n in (8, 16, 24, 32, 1, 40):
    x = torch.randn(n, 12)
    assert torch.allclose(auto(x), rows(x), atol=1e-6), n


def half(x):
    n = x.shape[0] // 2
    return x[:n] + x[n:2 * n]


every = torch.compile(half, dynamic=True)
for n in (6, 10, 14, 20):
    x = torch.randn(n, 3)
    assert torch.equal(every(x), half(x)), n


def chooses(x):
    return x + 1 if x.shape[0] > 10 else x - 1


both = torch.compile(chooses, dynamic=True)
for n in (4, 20, 6, 30):
    x = torch.randn(n)
    assert torch.equal(both(x), chooses(x)), n

marked = torch.compile(lambda x: x.flatten() * 2)
for n in (3, 5, 7):
    x = torch.randn(n, 4)
    torch._dynamo.mark_dynamic(x, 0)
    assert torch.equal(marked(x), x.reshape(-1) * 2)


def loops(x):
    y = x[0]
    for i in range(1, x.shape[0]):
        y = y + x[i]
    return y


f = torch.compile(loops, dynamic=True)
for n in (3, 4, 3):
    x = torch.randn(n, 5)
    assert torch.allclose(f(x), x.sum(0), atol=1e-6)

matmul = torch.compile(lambda a, b: (a @ b).relu(), dynamic=True)
for m, k, n in ((4, 8, 6), (5, 7, 9), (32, 16, 8)):
    a, b = torch.randn(m, k), torch.randn(k, n)
    assert torch.allclose(matmul(a, b), (a @ b).relu(), atol=1e-4)


def scaled(x, s):
    return x * s + s


f = torch.compile(scaled)
for s in (1.5, 2.5, 3.5, 4.5):
    x = torch.randn(4)
    assert torch.allclose(f(x, s), scaled(x, s))


def times(x, n):
    return x * n + n


def always(x, n):
    return x * n - n


for g, f in ((times, torch.compile(times)), (always, torch.compile(always, dynamic=True))):
    for n in (3, 5, 9, 1, 0, -2, 7):
        x = torch.randn(4)
        assert torch.allclose(f(x, n), g(x, n)), n


def first_replaced(x, y):
    y[0] = 1.0
    return x + y


f = torch.compile(first_replaced, dynamic=True)
for n in (5, 40):
    x, y = torch.randn(n), torch.randn(n)
    assert torch.equal(f(x, y.clone())[1:], (x + y)[1:]) and f(x, y.clone())[0] == x[0] + 1
print('fine')


# A float that has become an input of the graph widens nothing.
def of_float(x, n):
    i, s = x.long(), x.sum()
    return (torch.arange(3) * n, n - i, i // n, i / n, s * n, s.half() + n, s.bfloat16() * n, x * n, x.half() * n, x.double() * n, i ** n,
            torch.where(x > 0, i, n), i > n, torch.clamp(i, max=n), (x > 0) * n, torch.pow(n, i), s.add(n), n * n + i)


compiled = torch.compile(of_float)
for n in (0.5, 2.5, 3.5):
    for a, b in zip(compiled(torch.arange(3.0), n), of_float(torch.arange(3.0), n)):
        assert a.dtype == b.dtype and torch.allclose(a.double(), b.double(), equal_nan=True), (n, a, b)


# -- a mask of which the one side is a product of a size that is known later, along rows that follow each other in memory

def padded_rows(x, p, total):
    length = (total // p + 1) * p
    out = torch.cat([x, torch.zeros([2, length - total, 16])], dim=1)
    return out.reshape(2, length // p, p, 16).permute(0, 3, 1, 2).contiguous()


compiled, x = torch.compile(padded_rows), torch.randn(2, 16, 36).transpose(1, 2)
for p in (5, 7, 8, 11):
    assert torch.equal(compiled(x, p, 36), padded_rows(x, p, 36)), p
