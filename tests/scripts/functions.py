"""Functions of torch that are made of its operators, with the values that PyTorch prints."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.data


def rounded(v):
    return [rounded(item) for item in v] if isinstance(v, list) else round(v, 4) if isinstance(v, float) else v


def show(name, *tensors):
    for x in tensors:
        print(name, list(x.shape), str(x.dtype), rounded(x.tolist()))


x = torch.tensor([[0.5, -1.25, 2.0, 0.75], [3.0, 0.25, -0.5, -2.0], [1.5, -0.125, 4.0, 0.0]])
y = torch.Tensor([1.0, 2.0, -1.0, 0.5])
n = torch.tensor([7, -7, 9, -2])
m = torch.tensor([2, 3, -4, -5])
i = torch.tensor([2, 0])
show('div', torch.div(n, m, rounding_mode='floor'), torch.div(n, m, rounding_mode='trunc'), x.div(2, rounding_mode='trunc'))
show('round', torch.round(x * 1.11, decimals=1), x.round())
show('aminmax', *torch.aminmax(x), *x.aminmax(dim=1))
show('turned', torch.fliplr(x), torch.flipud(x), torch.rot90(x), torch.rot90(x, 3), torch.rot90(x, 2))
show('diff', torch.diff(x), torch.diff(x, dim=0), x.diff(n=2), torch.diff(y, prepend=y[:1]))
show('diagonals', torch.diag_embed(y[:3]), torch.diag_embed(y[:2], 1), torch.diag_embed(y[:2], -1), torch.trace(x))
show('cross', torch.cross(x[:, :3], x[:, 1:], dim=1), torch.linalg.cross(x[:, :3], x[:, 1:]))
show('kron', torch.kron(x[:1, :2], x[1:, :1]), torch.block_diag(x[:1], x[:2, :2]))
show('products', torch.tensordot(x, x, dims=([1], [1])), torch.tensordot(x, x.T, 1), torch.inner(x, y),
     torch.linalg.multi_dot([x, x.T, x]))
show('nan', torch.nansum(torch.log(x), 1), torch.nanmean(torch.log(x), 1))
show('logcumsumexp', torch.logcumsumexp(x, 1), torch.logcumsumexp(x, 0))
show('splits', *torch.tensor_split(x, 3, dim=1), *torch.tensor_split(x, (1, 3), 1), *torch.hsplit(x, 2), *torch.vsplit(x, 3))
show('shapes', x.ravel(), torch.atleast_2d(y), torch.column_stack([y, y * 2]), torch.dstack([y, y]), x.adjoint(),
     x.clone().unsqueeze_(0), x[:1].clone().squeeze_(0), x.clone().transpose_(0, 1))
show('index', x.index_copy(0, i, x[:2]), x.index_fill(1, i, 9.0), x.index_put((i,), y), x.index_put((i, i), y[:2], accumulate=True),
     x.index_put((x > 1,), torch.tensor(0.0)))
at = torch.tensor([[2, 0], [1, 1], [3, 2]])
for reduce in ('sum', 'prod', 'mean', 'amax', 'amin'):
    show(reduce, x.scatter_reduce(1, at, x[:, 2:] * 3, reduce), x.scatter_reduce(1, at, x[:, :2], reduce, include_self=False))
show('pointwise', torch.logit(torch.sigmoid(y)), torch.sgn(y), torch.rad2deg(y), torch.deg2rad(y), torch.heaviside(y - 1, y),
     torch.logaddexp2(y, y * 2), torch.sinc(y), torch.special.expit(y), torch.special.entr(y), torch.special.ndtr(y),
     torch.float_power(y, 2), torch.rsub(y, 1), torch.true_divide(n, 2), y.where(y > 0, -y))
show('norms', torch.linalg.norm(x), torch.linalg.norm(x, dim=1), torch.linalg.matrix_norm(x), torch.linalg.norm(x, 1),
     torch.linalg.norm(x, float('inf')), torch.linalg.vector_norm(x, ord=1, dim=0), torch.cdist(x, x), torch.cdist(x, x, p=1))
show('order', torch.msort(x), torch.bucketize(y, torch.tensor([0.0, 0.5, 1.0])), torch.searchsorted(torch.tensor([0.0, 0.5, 1.0]), y, right=True))
show('made', torch.tril_indices(3, 4, -1), torch.triu_indices(3, 3), torch.logspace(0, 2, 3), torch.scalar_tensor(2.5),
     y.new_tensor([1, 2]), torch.tensor([[True], [False]]), torch.tensor([1, 2.5]), torch.tensor([[]]), torch.LongTensor([1, 2]),
     y.type(torch.CharTensor), y.type('torch.LongTensor'), y.type(torch.float16))
show('trapezoid', torch.trapezoid(x), torch.trapz(x, dx=0.5, dim=0))
show('meshgrid', *torch.meshgrid(y, y[1:], indexing='xy'), *torch.meshgrid(y, y[1:], indexing='ij'))
show('pairs', torch.cartesian_prod(y, y[1:]), torch.cartesian_prod(y), torch.combinations(y), torch.combinations(y[:2], 3, True),
     torch.combinations(y[:1]))
show('powers', x[:, 1:].matrix_power(0), torch.matrix_power(x[:, :3], 1), torch.linalg.matrix_power(x[:, :3], 6))
show('broadcast', *torch.broadcast_tensors(y, x[:, :1]))
show('names of numpy', x.sum(axis=0), torch.mean(x, axis=1, keepdims=True), torch.exp(input=y))
print(list(torch.broadcast_shapes((3, 1), (2, 1, 4))), torch.promote_types(torch.int64, torch.float16), torch.finfo(torch.float16).max,
      torch.finfo(torch.bfloat16).eps, torch.iinfo(torch.int32).max, torch.iinfo(torch.int8).min,
      torch.iinfo(torch.uint8).max, torch.iinfo(torch.int64).max, torch.iinfo(torch.long).min,
      torch.promote_types(torch.int8, torch.uint8), int(torch.tensor(2.75)), float(torch.tensor(3)))

x[at[:2, :1], i] = 5.0
x[[0, 1], 3] = y[:2]
x[torch.tensor([True, False, True])] = -1.0
show('assigned', x)

table = nn.Embedding(4, 2, padding_idx=1)
table.weight.data.fill_(1.0)
F.embedding(torch.tensor([0, 1, 1, 2]), table.weight, padding_idx=-3).sum().backward()
show('padding', table.weight.grad)

z = (torch.arange(30.0).reshape(5, 2, 3) * 1.7).sin().requires_grad_()
labels = torch.tensor([[1, 1, 2], [2, 1, 2]])
lengths = torch.tensor([3, 2])
losses = [F.ctc_loss(z.log_softmax(-1), labels, torch.tensor([5, 4]), lengths),
          nn.CTCLoss(reduction='sum', zero_infinity=True)(z.log_softmax(-1), labels, (2, 5), (3, 0)),
          F.ctc_loss(z.log_softmax(-1), torch.tensor([0, 1, 0]), (4, 5), (1, 2), blank=2, reduction='none'),
          F.ctc_loss(z[:, 0], labels[1], torch.tensor(5), torch.tensor(3))]
show('ctc', *[loss.detach() for loss in losses])
sum([loss.sum() for loss in losses]).backward()
show('ctc', z.grad)
show('sizes', x.new(2, 0), x.new([[1, 2]]), y.new(y.size()).fill_(3), y.new().resize_as_(n).zero_(), y.clone().resize_(2, 2),
     y.clone().resize_([2]), torch.real(y).real, x.H, x.mH, y.repeat_interleave(2, output_size=8))

a, b = x[:, :2].sigmoid(), x[:, 2:].sigmoid()
show('reductions', F.mse_loss(a, b, size_average=False), F.l1_loss(a, b, reduce=False), nn.MSELoss(size_average=False)(a, b),
     nn.BCELoss(reduce=False)(a, b), nn.KLDivLoss(size_average=True, reduction='sum')(a, b), F.mse_loss(a, b, reduce=True),
     F.cosine_embedding_loss(a, b, torch.ones(3), size_average=False), F.mse_loss(a, b, size_average=None, reduction='sum'),
     F.mse_loss(a, b, reduction='elementwise_mean'), nn.L1Loss(reduction='elementwise_mean')(a, b),
     nn.CrossEntropyLoss(size_average=False, reduce=True)(x, torch.tensor([1, 0, 2])),
     nn.TripletMarginLoss(reduce=False)(a, b, a + b), nn.MultiLabelSoftMarginLoss(size_average=False)(a, b.round()))
show('norms', torch.norm(x, dtype=torch.float64), x.norm(1, 0, True, torch.float64), torch.norm_except_dim(x),
     torch.norm_except_dim(x, 1, 1), torch.norm_except_dim(x, 2, -1))
from torch.nn.utils.rnn import pad_sequence
show('rows', pad_sequence([x, x[:1]]), pad_sequence([y, y[2:]], batch_first=True, padding_value=9.0))
import warnings
warnings.simplefilter('ignore')
show('no dim', F.softmax(x), F.softmax(y), nn.LogSoftmax()(x[None]), nn.Softmin()(x), F.log_softmax(x[None, None]), torch.spmm(x, x.T))
show('upsample', nn.Upsample(scale_factor=1.7, mode='bilinear', recompute_scale_factor=True)(x[None, None, :, :3]),
     nn.Upsample(scale_factor=1.7, mode='bilinear')(x[None, None, :, :3]))
drawn = list(torch.utils.data.RandomSampler(range(3), replacement=True, num_samples=50))
print('drawn', len(drawn), sorted(set(drawn)))
show('init', nn.init.constant(torch.empty(2), 3.0), nn.init.uniform(torch.empty(2), 1, 1))

# -- names of a function, of a module
def named(a, b=2, *args, **kw):
    c = a + b
    g = lambda: c
    assert locals() == {'a': 1, 'b': 2, 'args': (), 'kw': {'d': 4}, 'c': 3, 'g': g} and vars()['c'] == 3
    return sorted({**locals(), 'x': 1})
class Names:
    x = 1
    names = [k for k in locals()]
print(named(1, d=4), globals()['named'] is named, 'Names' in locals())
torch._assert(torch.tensor(True), 'never')
try:
    torch._assert(1 > 2, 'one is less')
except AssertionError as e:
    print(e)

# -- systems of equations
a = torch.tensor([[0., 2., 1.], [3., 1., -2.], [1., 5., 4.]])
b = torch.tensor([[1., 0.], [2., 1.], [4., -1.]])
show('solved', torch.linalg.solve(a, b), torch.linalg.solve(a, b[:, 0]), torch.linalg.inv(a), a.det(), (a.inverse() @ a).abs())
show('solved', torch.linalg.det(torch.stack([a, a.T * 2])), torch.linalg.solve(torch.stack([a, a.T]), b), *torch.slogdet(-a))
show('solved', torch.linalg.lstsq(b, a).solution, torch.linalg.lstsq(b.T, a[:2]).solution, torch.linalg.pinv(b))
a.requires_grad_()
(torch.linalg.solve(a, b).square().sum() + torch.logdet(a.T @ a)).backward()
show('solved', a.grad)

# -- inverses, and the logarithm of gamma
z = torch.tensor([-1., -0.999999, -0.9, 0., 1e-4, 0.3, 0.99, 1.])
show('erfinv', z.erfinv(), torch.erfinv(z.double()), torch.empty(3).fill_(.5).erfinv_())
z = torch.tensor([-0.9, 0., 0.5, 0.99], requires_grad=True)
(z.erfinv() + (z + 2).lgamma()).sum().backward()
show('erfinv', z.grad, torch.lgamma(torch.tensor([0.1, 0.5, 3.5, 10., 50., -0.5, -2.3, 0.25])))
q = (torch.arange(20 * 16).view(20, 16) * 37 % 256 - 128).to(torch.int8)
w = (torch.arange(16 * 8).view(16, 8) * 91 % 256 - 128).to(torch.int8)
show('_int_mm', torch._int_mm(q, w)[:2], (q @ w)[:2])
f = (torch.arange(16 * 16).view(16, 16) % 23 - 11).to(torch.float8_e4m3fn)
show('_scaled_mm', torch._scaled_mm(f, f.t(), torch.tensor(0.5), torch.tensor(0.25), out_dtype=torch.bfloat16)[:2])
for product in (lambda: torch._int_mm(q.int(), w.int()), lambda: torch._int_mm(q[0], w)):
    try:
        product()
    except RuntimeError:
        print('refused')
print('version', torch.__version__.split('+')[0])
# what takes least first; labels in any order, summed over before, in all operands
e, g, h = (torch.arange(float(n)).reshape(s) % 5 - 2 for n, s in ((24, (4, 6)), (30, (6, 5)), (5, (5,))))
show('einsum', torch.einsum('ij,jk,k->i', e, g, h), (e @ (g @ h)), torch.einsum('ij,jk,lm->km', e, g, e),
     torch.einsum('ij,ik,il->jkl', e, e, e).sum(), torch.einsum('ijk,lkj->il', g.view(2, 3, 5), g.view(2, 3, 5).mT))
