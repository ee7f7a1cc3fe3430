"""backward() through eager operators, compiled functions, and both; accumulation, no_grad, detach, leaves."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


def numeric(f, x, i, eps=1e-3):
    up, down = x.detach().clone(), x.detach().clone()
    up[i] += eps
    down[i] -= eps
    return (f(up) - f(down)).item() / (2 * eps)


def f(x):
    y = torch.sin(x) * x.exp()
    return (y / (1 + x * x)).sum()


x = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=True)
for g in (f, torch.compile(f)):
    x.grad = None
    g(x).backward()
    for i in range(5):
        assert abs(x.grad[i].item() - numeric(f, x, i)) < 1e-5
    g(x).backward()
    assert abs(x.grad[0].item() - 2 * numeric(f, x, 0)) < 1e-5


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 8)
        self.b = nn.Linear(8, 3)

    def forward(self, x):
        return self.b(F.gelu(self.a(x)))


net = Net()
data, target = torch.randn(16, 6), torch.randn(16, 3)
compiled = torch.compile(net)
loss = F.mse_loss(net(data), target)
loss.backward()
want = [p.grad.clone() for p in net.parameters()]
net.zero_grad()
assert all(p.grad is None for p in net.parameters())
F.mse_loss(compiled(data), target).backward()
for p, w in zip(net.parameters(), want):
    assert torch.allclose(p.grad, w, atol=1e-6)

before = loss.item()
for step in range(20):
    net.zero_grad()
    loss = F.mse_loss(compiled(data), target)
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
assert loss.item() < before

a = torch.ones(3, requires_grad=True)
assert not (a.detach() * 2).requires_grad
with torch.no_grad():
    assert not (a * 2).requires_grad
b = a * 2
assert b.requires_grad and not b.is_leaf and a.is_leaf
try:
    a += 1
    assert False
except RuntimeError as e:
    assert 'leaf' in str(e)
try:
    (torch.ones(2) * 2).sum().backward()
    assert False
except RuntimeError as e:
    assert 'require grad' in str(e)
g, = torch.autograd.grad((a * a).sum(), [a])
assert torch.equal(g, 2 * torch.ones(3)) and a.grad is None
print((a * 3).sum(), a)

# Gradients add up in the tensor that .grad is.
w = torch.ones(2, requires_grad=True)
(w * 2).sum().backward()
held = w.grad
(w * 3).sum().backward()
assert held is w.grad and held.tolist() == [5.0, 5.0]
held *= 2
assert w.grad.tolist() == [10.0, 10.0]
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
(a + b).sum().backward()
(a * 2).sum().backward()
assert a.grad.tolist() == [3.0, 3.0] and b.grad.tolist() == [1.0, 1.0]


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g, g


a, b, seed = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True), torch.ones(2)
for _ in range(2):
    Both.apply(a, b).backward(seed)
a.backward(seed)
a.backward(seed)
assert a.grad.tolist() == [4.0, 4.0] and b.grad.tolist() == [2.0, 2.0] and seed.tolist() == [1.0, 1.0]

# Where several sources of a scatter, or of an index, go to one element, PyTorch gives each the gradient of that element.
seed, at = torch.tensor([[1.0, 10.0, 100.0, 1000.0]]), torch.tensor([[1, 2, 1]])


def scattered(x, src):
    return x.scatter(1, at, src)


def put(x, src):
    y = x.clone()
    y[0, at[0]] = src[0]
    return y


for f in (scattered, put, torch.compile(scattered), torch.compile(put)):
    x, src = torch.zeros(1, 4, requires_grad=True), torch.tensor([[5.0, 6.0, 7.0]], requires_grad=True)
    f(x, src).backward(seed)
    assert src.grad.tolist() == [[10.0, 100.0, 10.0]] and x.grad.tolist() == [[1.0, 0.0, 0.0, 1000.0]]
scores = torch.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)  # as a penalty on repeated tokens does
scores.scatter(1, at, scores.gather(1, at) * 2).backward(seed)
assert scores.grad.tolist() == [[1.0, 40.0, 200.0, 1000.0]]


# Scores of attention may be beyond f16, which ends at 65,504: they are never stored in it.
import torch.nn.functional as F
for attention in (F.scaled_dot_product_attention, torch.compile(F.scaled_dot_product_attention)):
    q, k, v = [(((torch.arange(128) * m) % 23 - 11).reshape(1, 2, 4, 16) * s).half().requires_grad_() for m, s in ((37, 150.0), (53, 150.0), (71, 0.1))]
    out = attention(q, k, v)
    (out.float() * torch.arange(16.0)).sum().backward()
    assert out.isfinite().all() and q.grad.isfinite().all() and k.grad.isfinite().all()
    print(v.grad.float().sum().item(), out.float().sum().item())


# At kinks and ends, where a formula would divide by 0: padding that is all zeros, a sigmoid that has rounded to 0 or 1.
def slope(f, *given):
    given = [torch.tensor(x, requires_grad=True) for x in given]
    f(*given).sum().backward()
    return [[f'{v:.4g}' for v in t.grad.flatten().tolist()] for t in given]


for make in (lambda f: f, torch.compile):
    print(slope(make(lambda x: x.clamp(0.0, 1.0) + x.clamp(min=0.0) + x.clip(max=1.0) + x.clamp_min(1.0)), [0.0, 0.5, 1.0, 2.0]))
    print(slope(make(lambda x, a, b: x.clamp(a, b)), [0.0] * 7, [0.0, -1.0, 0.0, 1.0, -1.0, 1.0, -1.0], [1.0, 0.0, 0.0, 1.0, -1.0, -1.0, 1.0]))
    print(slope(make(lambda x, a: x.clamp(min=a) + x.clamp_max(a)), [0.0, 1.0, -1.0], [0.0, 0.0, 0.0]))
    print(slope(make(torch.atan2), [0.0, 1.0], [0.0, 0.0]))
    print(slope(make(lambda x, y: F.cosine_similarity(x, y)), [[0.0, 0.0], [3.0, 4.0]], [[1.0, 2.0], [0.0, 0.0]]))
    for how in ('none', 'mean', 'sum'):
        print(slope(make(lambda x: F.binary_cross_entropy(x, torch.tensor([0.0, 1.0, 0.0, 0.0]), torch.tensor([1.0, 2.0, 3.0, 4.0]), reduction=how)), [0.0, 1.0, 1.0, 0.25]))
