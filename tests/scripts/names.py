"""Other names and spellings of operators: eager and compiled, against what they stand for."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.amp import GradScaler
from torch.cuda.amp import autocast
from torch.nn.attention import SDPBackend, sdpa_kernel


def same(a, b):
    if isinstance(b, (list, tuple)) and isinstance(a, (list, tuple)):
        return len(a) == len(b) and all([same(x, y) for x, y in zip(a, b)])
    if not torch.is_tensor(b):
        b = torch.tensor(b)
    close = torch.allclose if b.is_floating_point() else torch.equal
    return a.dtype == b.dtype and a.shape == b.shape and close(a, b)


def check(name, function, want, *args):
    """function(*args) is want, of its type, called and compiled."""
    torch._dynamo.reset()
    for f in (function, torch.compile(function)):
        got = f(*args)
        assert same(got, want), f'{name}: {got}, not {want}'


x = torch.tensor([[1.5, -2.0, 0.5], [-0.0, 4.0, -1.5]])
y = torch.tensor([[1.5, 2.0, -0.5], [1.0, 4.0, -2.5]])
i = torch.tensor([[1, 0, 2], [3, 1, -1]])

# tensor() of tensors: their values, promoted, with no gradient
w = torch.tensor([3.0, 5.0], requires_grad=True)
check('tensor', lambda x: torch.tensor([x.sum(), x.max()]), [2.5, 4.0], x)
check('tensor, number', lambda x: torch.tensor([x.sum(), 1]), [2.5, 1.0], x)
check('tensor, integers', lambda i: torch.tensor([i[0, 0], 7]), [1, 7], i)
check('tensor, rows', lambda x: torch.tensor([[x[0, 0], 2], [3.5, x[0, 1]]]), [[1.5, 2.0], [3.5, -2.0]], x)
check('tensor, dtype', lambda x: torch.tensor([x[0, 0], 9.9], dtype=torch.int64), [1, 9], x)
check('tensor, of one element', lambda x: torch.tensor([x[0, :1], x[0, 1:2]]), [1.5, -2.0], x)
check('as_tensor', lambda x: torch.as_tensor([x.sum(), x.max()]), [2.5, 4.0], x)
assert not torch.tensor([w.sum(), w.max()]).requires_grad
torch.compile(lambda w: (torch.tensor([w.sum(), w.max()]) * w).sum())(w).backward()
assert torch.equal(w.grad, torch.tensor([8.0, 5.0]))

# other names
for name, short in (('greater', 'gt'), ('greater_equal', 'ge'), ('less', 'lt'), ('less_equal', 'le'),
                    ('not_equal', 'ne'), ('subtract', 'sub'), ('multiply', 'mul'), ('divide', 'div'),
                    ('true_divide', 'div')):
    check(name, lambda x, y: (getattr(torch, name)(x, y), getattr(x, name)(y)), [getattr(torch, short)(x, y)] * 2, x, y)
    check(name + '_', lambda x, y: getattr(x.clone(), name + '_')(y), getattr(x.clone(), short + '_')(y), x, y)
check('subtract, alpha', lambda x, y: torch.subtract(x, y, alpha=2), x - 2 * y, x, y)
check('divide, rounding_mode', lambda x, y: x.divide(y, rounding_mode='floor'), (x / y).floor(), x, y)
check('fix', lambda x: (torch.fix(x), x.fix()), [x.trunc()] * 2, x)
check('swapdims', lambda x: (x.swapdims(0, 1), x.swapaxes(0, 1), torch.swapdims(x, 0, 1)), [x.T] * 3, x)
check('moveaxis', lambda x: x.moveaxis(0, 1), x.T, x)
check('negative', lambda x: (x.negative(), x.absolute(), x.arctan(), x.positive()), [-x, abs(x), x.atan(), x], x)
check('split_with_sizes', lambda x: (x.split_with_sizes([1, 2], 1), torch.split_with_sizes(x, (1, 1))),
      [[x[:, :1], x[:, 1:]], [x[:1], x[1:]]], x)
inf = torch.tensor([math.inf, -math.inf, math.nan, 1.0, -0.0])
check('isposinf', lambda x: (torch.isposinf(x), x.isneginf()),
      [[True, False, False, False, False], [False, True, False, False, False]], inf)
check('isposinf, integers', lambda i: (torch.isposinf(i), torch.signbit(i)), [i != i, i < 0], i)
check('signbit', lambda x: (torch.signbit(x), x.signbit()), [[[False, True, False], [True, False, True]]] * 2, x)
check('pixel_shuffle', lambda x: torch.pixel_shuffle(x, 2), torch.arange(4.).reshape(1, 1, 2, 2),
      torch.arange(4.).reshape(1, 4, 1, 1))
check('upsample_nearest', lambda x: F.upsample_nearest(x, scale_factor=2), torch.tensor([[[1., 1., 2., 2.]]]),
      torch.tensor([[[1., 2.]]]))
check('upsample_bilinear', lambda x: F.upsample_bilinear(x, size=(1, 3)), torch.tensor([[[[1., 1.5, 2.]]]]),
      torch.tensor([[[[1., 2.]]]]))
assert x.equal(x) and not x.equal(y) and x.allclose(x + 1e-9) and torch.allclose(input=x, other=x)
check('isclose', lambda x, y: x.isclose(y), x == y, x, y)

# type(): the name of the class
assert x.type() == 'torch.FloatTensor' and i.type() == 'torch.LongTensor' and x.type() != x.double().type()
assert (x > 0).type() == 'torch.BoolTensor' and x.bfloat16().type() == 'torch.BFloat16Tensor'
check('type', lambda x, i: x if x.type() == i.type() else x.type(i.type()), x.long(), x, i)
check('type, name', lambda x: x.type('torch.BFloat16Tensor').type(torch.DoubleTensor), x.double(), x)

# numpy's names of parameters
rows = x.max(dim=1).values
check('axis', lambda x: (x.max(axis=1).values, torch.max(x, axis=1, keepdims=True).values, x.min(axis=1)[1]),
      [rows, rows[:, None], [1, 2]], x)
check('axis of softmax', lambda x: (torch.softmax(x, axis=1), x.log_softmax(axis=0)),
      [x.softmax(1), x.log_softmax(0)], x)
check('axis of std', lambda x: (x.std(axis=1), torch.var(x, axis=0, keepdims=True), x[None].squeeze(axis=0)),
      [x.std(1), x.var(0, keepdim=True), x], x)
check('axis of median', lambda x: (x.median(axis=1).values, torch.sort(x, axis=0).values, x.cumsum(axis=1)),
      [x.median(1).values, x.sort(0).values, x.cumsum(1)], x)
check('input', lambda x: (torch.max(input=x, dim=1).values, torch.std(input=x)), [rows, x.std()], x)
try:
    F.softmax(x, axis=1)
    raise ValueError('F.softmax takes no axis')
except TypeError as e:
    assert str(e) == "softmax() got an unexpected keyword argument 'axis'"

# counts and places
k = torch.tensor([3, 0, 3, 1, 3])
part = torch.tensor([0.5, 1.0, 2.0, 4.0, 8.0])
check('bincount', lambda k: (torch.bincount(k, minlength=5), k.int().bincount(minlength=5)), [[1, 1, 0, 3, 0]] * 2, k)
check('bincount of weights', lambda k, part: torch.bincount(k, part, 4), [1.0, 4.0, 0.0, 10.5], k, part)
check('bincount of integers', lambda k: torch.bincount(k, weights=k, minlength=4),
      torch.tensor([0, 1, 0, 9]).double(), k)
check('bincount without a length', lambda k: (k * 2).bincount() + 1, [2, 1, 2, 1, 1, 1, 4], k)
assert torch.equal(torch.bincount(k, minlength=2), torch.tensor([1, 1, 0, 3]))
edges = torch.tensor([0.0, 0.5, 2.0])
check('searchsorted', lambda e: (torch.searchsorted(e, 0.5), torch.searchsorted(e, 0.5, right=True),
                                 torch.bucketize(3, e), torch.bucketize(0.5, e, out_int32=True)),
      [1, 2, 3, torch.tensor(1).int()], edges)
check('range', lambda x: (x[range(2), [2, 0]], x[:, range(2, -1, -1)], x[range(-1, 0)]),
      [[0.5, -0.0], x.flip(1), x[1:]], x)


def set_range(x):
    x = x.clone()
    x[range(2), range(1, 3)] = 7.0
    return x


check('set by range', set_range, [[1.5, 7.0, 0.5], [-0.0, 4.0, 7.0]], x)


# settings that do not change values
image = torch.arange(24.0).reshape(2, 3, 2, 2)
last = torch.channels_last
assert str(last) == 'torch.channels_last' and isinstance(last, torch.memory_format)
check('channels_last', lambda x: (x.contiguous(last), x.contiguous(memory_format=last), x.to(memory_format=last)),
      [image] * 3, image)
check('preserve_format', lambda x: x.clone(memory_format=torch.preserve_format).double(memory_format=last),
      image.double(), image)
check('empty_like', lambda x: torch.zeros_like(x, memory_format=torch.contiguous_format), image * 0, image)
layer = nn.Linear(2, 3).to(memory_format=torch.channels_last_3d)
assert layer.weight.shape == (3, 2)


def not_cast(x):
    with torch.cuda.amp.autocast(enabled=False):
        x = x + 1
    with autocast(False), torch.autocast('cuda', enabled=False):
        return x * 2


check('autocast', not_cast, (x + 1) * 2, x)

q = torch.arange(48.0).sin().reshape(1, 4, 3, 4)
kv = torch.arange(24.0).cos().reshape(1, 2, 3, 4)
pairs = torch.stack([kv[:, 0], kv[:, 0], kv[:, 1], kv[:, 1]], 1)
full = (q @ pairs.transpose(-1, -2) / 2).softmax(-1) @ pairs


def grouped(q, kv):
    with sdpa_kernel(SDPBackend.MATH), torch.backends.cuda.sdp_kernel(enable_flash=False):
        return F.scaled_dot_product_attention(q, kv, kv, enable_gqa=True)


check('attention of groups', grouped, full, q, kv)
check('attention', lambda q, kv: F.scaled_dot_product_attention(q, kv, kv), full, q, pairs)


# reset_parameters: what __init__ calls, a subclass's where it has one
class Scaled(nn.Linear):
    def reset_parameters(self):
        super().reset_parameters()
        with torch.no_grad():
            self.weight *= 0.5
            self.bias.fill_(3.0)


class Started(nn.LayerNorm):
    def reset_parameters(self):
        nn.init.constant_(self.weight, 2.0)
        nn.init.ones_(self.bias)


class Table(nn.Embedding):
    def __init__(self):
        nn.Embedding.__init__(self, 5, 400, padding_idx=-2)
        self.first = self.weight.detach().clone()
        nn.Embedding.reset_parameters(self)


scaled, plain, table = Scaled(4, 600), nn.Linear(4, 600), Table()
assert 0.24 < scaled.weight.max().item() <= 0.25 and (scaled.bias == 3).all()
assert 0.49 < plain.weight.max().item() <= 0.5 and plain.weight.requires_grad and plain.weight.is_leaf
norm = Started(3)
assert norm.weight.tolist() == [2.0] * 3 and norm.bias.tolist() == [1.0] * 3
norm = nn.LayerNorm(3)
norm.weight.data.fill_(4.0)
norm.reset_parameters()
assert norm.weight.tolist() == [1.0] * 3 and norm.bias.tolist() == [0.0] * 3
assert (table.weight[3] == 0).all() and (table.first[3] == 0).all() and 0.9 < table.weight[:3].std().item() < 1.1
assert not torch.equal(table.first, table.weight) and table.weight.requires_grad
nn.Linear(4, 5).requires_grad_(False).reset_parameters()


# interpolate: which element is nearest, by hand; areas are means
row = torch.arange(5.0).reshape(1, 1, 5)
picks = lambda n, step, offset: torch.tensor([[[float(min(int((i + offset) * step), 4)) for i in range(n)]]])
check('nearest by a factor', lambda r: (F.interpolate(r, scale_factor=1.5), F.interpolate(r, scale_factor=0.7)),
      [picks(7, 1 / 1.5, 0), picks(3, 1 / 0.7, 0)], row)
check('nearest by sizes', lambda r: F.interpolate(r, scale_factor=1.5, recompute_scale_factor=True),
      picks(7, 5 / 7, 0), row)
check('nearest-exact', lambda r: (F.interpolate(r, size=3, mode='nearest-exact'),
                                  F.interpolate(r, 8, mode='nearest-exact'),
                                  F.interpolate(r, scale_factor=1.5, mode='nearest-exact')),
      [picks(3, 5 / 3, 0.5), picks(8, 5 / 8, 0.5), picks(7, 1 / 1.5, 0.5)], row)
check('nearest-exact of an image', lambda x: F.interpolate(x, scale_factor=(2, 0.5), mode='nearest-exact'),
      image[:, :, [0, 0, 1, 1], 1:], image)
check('area', lambda r: (F.interpolate(r, size=2, mode='area'), F.interpolate(r, scale_factor=0.4, mode='area')),
      [[[[1.0, 3.0]]]] * 2, row)
