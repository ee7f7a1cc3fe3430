"""Eigenvalues of symmetric matrices, singular values and what is made of them, computed at once and in a graph, with their
gradients. Vectors have no sign of their own: what is printed does not depend on it."""
import torch


def rounded(v):
    return [rounded(item) for item in v] if isinstance(v, list) else 0.0 if isinstance(v, float) and abs(v) < 1e-4 else float(f'{v:.3g}') if isinstance(v, float) else v


def show(name, *tensors):
    for x in tensors:
        print(name, list(x.shape), str(x.dtype), rounded(x.tolist()))


def same(name, x, y):
    assert x.dtype == y.dtype and torch.allclose(x, y, rtol=1e-3, atol=1e-4), name


def both(name, f, *inputs, graph=True):
    """At once, and in a graph, where that does not take long to compile."""
    found = f(*inputs)
    show(name, *found)
    for x, y in zip(found, torch.compile(f)(*inputs) if graph else ()):
        same(name, x, y)


def slope(name, f, x):
    x = x.clone().requires_grad_()
    f(x).backward()
    show(name, x.grad)


x = torch.tensor([[2.0, -1.0, 0.5, 0.25], [-1.0, 3.0, 1.5, -0.5], [0.5, 1.5, -1.0, 2.0], [0.25, -0.5, 2.0, 0.75]])
tall, flat = x[:, :3], x[:2]
low = torch.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])  # of rank 1


def eigen(a):
    w, v = torch.linalg.eigh(a)
    return w, v.abs(), torch.linalg.eigvalsh(a.triu(), UPLO='U'), a @ v - v * w.unsqueeze(-2)


def singular(a):
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    return s, u.abs(), vh.abs(), (u * s) @ vh - a


def whole(a):
    u, s, v = torch.svd(a, some=False)
    return s, u.mT @ u, v.mT @ v, u[..., :s.numel()] * s @ v[..., :s.numel()].mT - a


def made(a):
    return (torch.linalg.pinv(a), torch.linalg.matrix_rank(a), torch.linalg.norm(a, 2), torch.linalg.matrix_norm(a, -2, keepdim=True),
            torch.norm(a, 'nuc'), torch.linalg.cond(x), torch.linalg.svdvals(a), torch.pinverse(a, 0.5))


both('eigh', eigen, x)
both('eigh', eigen, torch.stack([x, torch.eye(4)]), graph=False)
both('eigh', eigen, torch.zeros(3, 3), graph=False)
both('eigh', lambda a: torch.linalg.eigh(a), torch.zeros(0, 3, 3))
for a in (tall, flat, x):
    both('svd', singular, a, graph=a is tall)
    both('svd', whole, a, graph=a is flat)
both('rank 1', whole, low, graph=False)
both('rank 1', whole, low.mT, graph=False)
both('made', made, tall)
both('made', made, low, graph=False)
both('tolerance', lambda a: (torch.linalg.matrix_rank(a, atol=2.5), torch.linalg.matrix_rank(a, hermitian=True), torch.linalg.pinv(a, hermitian=True),
                             torch.linalg.pinv(a, rtol=torch.tensor(0.5)), torch.linalg.matrix_rank(a, 2.5)), x, graph=False)
both('lstsq', lambda a: torch.linalg.lstsq(a, a + 1, driver='gelsd')[2:], tall, graph=False)
square = x @ x + torch.eye(4)
weights = torch.arange(16.0).reshape(4, 4).sin()
slope('eigh', lambda a: (torch.linalg.eigh(a)[0] * weights[0]).sum() + (torch.linalg.eigh(a)[1].abs() * weights).sum(), x)
slope('svd', lambda a: (torch.linalg.svd(a, False).U.abs() * weights[:, :3]).sum() + (torch.linalg.svd(a, False).Vh.abs() * weights[:3, :3]).sum(), tall)
slope('svd', lambda a: (torch.svd(a).V.abs() * weights[:, :2]).sum() + torch.linalg.svdvals(a)[1], flat)
slope('pinv', lambda a: (torch.linalg.pinv(a) * weights[:3]).sum(), tall)
slope('pinv', lambda a: (torch.linalg.pinv(a) * weights[:2, :3]).sum(), low)
slope('nuclear', lambda a: torch.linalg.matrix_norm(a, 'nuc'), tall)

# Large ones keep their digits.
n = 24
wide = torch.sin(torch.arange(float(n * n)).reshape(n, n) ** 1.5).double()
u, s, vh = torch.linalg.svd(wide)
same('large', (u * s) @ vh, wide)
assert (u.mT @ u - torch.eye(n).double()).abs().max() < 1e-12
w, v = torch.linalg.eigh(wide + wide.mT)
assert ((wide + wide.mT) @ v - v * w).abs().max() < 1e-12 * n and bool((w[1:] >= w[:-1]).all())
