"""torch.autocast on a CPU: types as PyTorch's lists have them, eager and compiled, gradients in f32; and `import *` of typing."""
from typing import *

import torch
import torch.nn as nn
import torch.nn.functional as F

T = TypeVar('T')
BOTH: Optional[List[T]] = None
low = torch.bfloat16
torch.manual_seed(0)
layer, norm = nn.Linear(8, 8), nn.LayerNorm(8)
x, y = torch.randn(4, 8), torch.randn(4, 8)


def products(x, y):
    with torch.autocast('cpu', dtype=low):
        h = layer(x)
        return h, x @ y.t(), F.scaled_dot_product_attention(x, y, x), norm(h), F.mse_loss(h, y), torch.softmax(h, -1), h + y, h.exp()


def by_hand(x, y):
    h = F.linear(x.to(low), layer.weight.to(low), layer.bias.to(low))
    low_x, low_y = x.to(low), y.to(low)
    return (h, low_x @ low_y.t(), F.scaled_dot_product_attention(low_x, low_y, low_x), norm(h.float()).to(low), F.mse_loss(h.float(), y),
            torch.softmax(h, -1), h + y, h.exp())


def nested(x, y):
    with torch.autocast('cpu'):
        a = x @ y.t()
        with torch.autocast('cpu', enabled=False):
            b = x @ y.t()
        c = x @ y.t()
    return a.dtype, b.dtype, c.dtype, (x @ y.t()).dtype, torch.is_autocast_enabled('cpu')


@torch.autocast('cpu')
def decorated(x, y):
    return x @ y.t()


def fails(x):
    try:
        with torch.autocast('cpu'):
            raise ValueError
    except ValueError:
        return (x @ x.t()).dtype


want = by_hand(x, y)
for f in (products, torch.compile(products)):
    got = f(x, y)
    for i, (g, w) in enumerate(zip(got, want)):
        assert g.dtype == w.dtype, (i, g.dtype, w.dtype)
        assert torch.allclose(g.float(), w.float(), rtol=2e-2, atol=2e-2), (i, g, w)

assert nested(x, y) == (low, torch.float32, low, torch.float32, False), nested(x, y)
assert decorated(x, y).dtype == low
assert fails(x) == torch.float32

compiled = torch.compile(lambda x, y: x @ y.t())
assert compiled(x, y).dtype == torch.float32
with torch.autocast('cpu'):
    assert compiled(x, y).dtype == low  # compiled again
assert compiled(x, y).dtype == torch.float32

grads = []
for f in (products, by_hand):
    layer.zero_grad()
    f(x, y)[4].backward()
    grads.append(layer.weight.grad)
assert grads[0].dtype == torch.float32 and torch.allclose(*grads, rtol=2e-2, atol=1e-3)

with torch.autocast('cpu'):
    total = x @ y.t()
    total += torch.ones(4, 4)
    assert total.dtype == low and (x.double() @ y.double().t()).dtype == torch.float64

# what is written to a tensor that is given is not cast
into = torch.empty(4, 4)
with torch.autocast('cpu'):
    torch.mm(x, y.t(), out=into)
    assert torch.mm(x, y.t(), out=None).dtype == low
assert into.dtype == torch.float32 and torch.equal(into, torch.mm(x, y.t()))
