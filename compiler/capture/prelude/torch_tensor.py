"""Functions of torch that are methods of Tensor, too: Tensor gets every name without underscore."""

import math
from collections import namedtuple

import torch
from _warpsmith import (op, refuse, graph_break, assign, reshaped, fills_memory as _fills_memory, copy_of_view as _copy_of_view, item as _item, tolist as _tolist, get_grad,
                        move, on_cuda, computes, is_known, nonzero as _nonzero, places as _places, hooks as _hooks, grad_hooks as _grad_hooks,
                        retain_grad as _retain_grad, storage_offset as _storage_offset, data_ptr as _data_ptr,
                        grad_name as _grad_name, grad_mode as _grad_mode, set_grad_mode as _set_grad_mode)
_range, _reversed, _sorted = range, reversed, sorted
diagonal, _least, _most = op('diagonal'), min, max
_squeeze, _var, _std, _max, _min, _norm = op('squeeze'), op('var'), op('std'), op('max'), op('min'), op('norm')
_softmax, _log_softmax, _to, _slice, _select = op('softmax'), op('log_softmax'), op('to'), op('slice'), op('select')
_matmul, _amax, _amin, _argmax, _argmin = op('matmul'), op('amax'), op('amin'), op('argmax'), op('argmin')
_mm_float8 = op('mm_float8')
_max_dim, _min_dim = op('max_dim'), op('min_dim')
_cummax, _cummin, _copysign = op('cummax'), op('cummin'), op('copysign')
_repeat_interleave, _scatter, _unfold = op('repeat_interleave'), op('scatter'), op('unfold')


def squeeze(self, dim=None):
    if isinstance(dim, (tuple, list)):
        for d in _sorted([d % _most(self.ndim, 1) for d in dim], reverse=True):
            self = _squeeze(self, d)
        return self
    if dim is not None:
        return _squeeze(self, dim)
    out = self
    for d in _reversed(_range(self.ndim)):
        if self.shape[d] == 1:
            out = _squeeze(out, d)
    return out if out is not self or not computes() else self.expand(self.shape)  # a tensor of its own


def _back(x, dim):
    """What was computed along the last dimension, which belongs here; it lies in memory as a result does."""
    x = x.movedim(-1, dim)
    return x.contiguous() if computes() else x


def softmax(self, dim, dtype=None):
    return _softmax(self, dim, dtype)


def log_softmax(self, dim, dtype=None):
    return _log_softmax(self, dim, dtype)


def unbind(self, dim=0):
    return tuple([_select(self, dim, i) for i in _range(self.size(dim))])


def split(self, split_size, dim=0):
    n = self.size(dim)
    if isinstance(split_size, int):
        if split_size < 1 and (split_size or n):
            raise ValueError('split size must be positive')
        sizes = [split_size] * (n // split_size) + ([n % split_size] if n % split_size else []) if n else [0]
    else:
        sizes = list(split_size)
        if sum(sizes) != n:
            raise RuntimeError(f'split sizes {sizes} do not sum to {n}, the size of dimension {dim}')
    parts, start = [], 0
    for size in sizes:
        parts.append(_slice(self, dim, start, start + size))
        start += size
    return tuple(parts)


def split_with_sizes(self, split_sizes, dim=0):
    return split(self, list(split_sizes), dim)


def chunk(self, chunks, dim=0):
    n = self.size(dim)
    return split(self, -(-n // chunks) if n else [0] * chunks, dim)


def _correction(unbiased, correction):
    if correction is None:
        correction = 0 if unbiased is False else 1
    return correction


def var(self, dim=None, unbiased=None, correction=None, keepdim=False):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return _var(self, dim, _correction(unbiased, correction), keepdim)


def std(self, dim=None, unbiased=None, correction=None, keepdim=False):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return _std(self, dim, _correction(unbiased, correction), keepdim)


def norm(self, p='fro', dim=None, keepdim=False, dtype=None):
    if p == 'nuc':
        return torch.linalg.matrix_norm(self, 'nuc', (0, 1) if dim is None else dim, keepdim, dtype)
    return _norm(self if dtype is None else self.to(dtype), 2 if p == 'fro' or p is None else p, dim, keepdim)


class _Pair(tuple):
    """What torch.max over a dimension, sort and topk return: a tuple of two with names."""

    def __new__(cls, values, indices, name='max'):
        pair = super().__new__(cls, (values, indices))
        pair._name = name
        return pair

    values = property(lambda self: self[0])
    indices = property(lambda self: self[1])

    def __repr__(self):
        return f'torch.return_types.{self._name}(\nvalues={self.values!r},\nindices={self.indices!r})'


def max(self, dim=None, keepdim=False):
    if dim is None:
        return _max(self)
    if isinstance(dim, torch.Tensor):
        return torch.maximum(self, dim)
    return _Pair(_max_dim(self, dim, keepdim), _argmax(self, dim, keepdim))


def min(self, dim=None, keepdim=False):
    if dim is None:
        return _min(self)
    if isinstance(dim, torch.Tensor):
        return torch.minimum(self, dim)
    return _Pair(_min_dim(self, dim, keepdim), _argmin(self, dim, keepdim), 'min')


def _running(values, self, dim):
    """The place of a running extremum: of the last element that equals it."""
    place = torch.arange(self.size(dim)).reshape([-1] + [1] * (self.ndim - 1 - dim % self.ndim))
    hit = (self == values) | (self != self)
    return _Pair(values, _cummax(torch.where(hit, place, 0), dim))


def _of_row(f, self, dim, *rest, name=None):
    """What f makes of a tensor of one dimension, of one that has none: both parts of a pair, or the tensor."""
    if dim not in (0, -1):
        raise IndexError(f'Dimension out of range (expected to be in range of [-1, 0], but got {dim})')
    found = f(self.reshape(1), 0, *rest)
    if torch.is_tensor(found):
        return found.reshape(())
    return _Pair(found.values.reshape(()), found.indices.reshape(()), name)


def _of_bytes(function, self, dim):
    values, places = function(self.byte(), dim)
    return _Pair(values.bool(), places, function.__name__)


def cummax(self, dim):
    if not self.ndim:
        return _of_row(cummax, self, dim, name='cummax')
    if self.dtype == torch.bool:
        return _of_bytes(cummax, self, dim)
    return _running(_cummax(self, dim), self, dim)


def cummin(self, dim):
    if not self.ndim:
        return _of_row(cummin, self, dim, name='cummin')
    if self.dtype == torch.bool:
        return _of_bytes(cummin, self, dim)
    return _running(_cummin(self, dim), self, dim)


_SORTED, _ROUNDS = 64, 8  # elements that are sorted by counting wherever they are; rounds of topk
_MOST_ROUNDS, _FEW = 64, 2**26  # where counting would take more comparisons than these
_COMPARED = 2**30  # comparisons at most that sort what is longer: 256 rows of 2048


def _too_long(self, dim):
    """Whether this is more than is sorted by counting."""
    return self.numel() * self.size(dim) > _COMPARED


def _sort_values(self, dim, descending):
    """Where the values are known: row by row, by Python's sort. NaN counts as the largest."""
    x = self.detach().movedim(dim, -1)
    order = []
    for row in x.reshape(-1, x.size(-1)).tolist():
        key = lambda i: (row[i] != row[i], 0 if row[i] != row[i] else row[i])
        order.append(_sorted(_range(len(row)), key=key, reverse=descending))
    indices = _back(torch.tensor(order).reshape(x.shape), dim)
    return _Pair(self.gather(dim, indices), indices, 'sort')


def sort(self, dim=-1, descending=False, stable=False):
    if not self.ndim:
        return _of_row(sort, self, dim, descending, name='sort')
    return _sort(self, dim, descending)


def _sort(self, dim, descending):
    """By counting, for each element, those that come before it: n*n comparisons, none of them in memory."""
    n = self.size(dim)
    if n > _SORTED and computes():
        return _sort_values(self, dim, descending)
    if n > _SORTED and _too_long(self, dim):
        refuse(f'sorting is not supported where it takes more than {_COMPARED} comparisons: {self.numel()} elements in rows of {n}')
    x = self.movedim(dim, -1)
    own, other, number = x.unsqueeze(-1), x.unsqueeze(-2), torch.arange(n)
    place = number.unsqueeze(1)
    before, same = other > own if descending else other < own, other == own
    if self.is_floating_point():
        own_nan, other_nan = own != own, other != other
        before = before | (other_nan & ~own_nan if descending else own_nan & ~other_nan)
        same = same | (other_nan & own_nan)
    rank = (before | (same & (number < place))).sum(-1, keepdim=True)
    found = rank == number
    values = torch.where(found, own, 0).sum(-2).to(self.dtype)
    return _Pair(_back(values, dim), _back(torch.where(found, place, 0).sum(-2), dim), 'sort')


def argsort(self, dim=-1, descending=False, stable=False):
    return sort(self, dim, descending, stable).indices


def topk(self, k, dim=-1, largest=True, sorted=True):
    """Of long rows by k rounds: where the extremum is, then without it. A row of fewer than k finite elements repeats
    an index."""
    if not self.ndim:
        return _of_row(lambda x, d: topk(x, k, d), self, dim, name='topk')
    n = self.size(dim)
    if not 0 <= k <= n:
        raise RuntimeError('selected index k out of range')
    rounds = _MOST_ROUNDS if self.numel() * n > _FEW else _ROUNDS
    short = 1 <= k <= rounds and self.is_floating_point()
    if n <= _SORTED or not short and (computes() or not _too_long(self, dim)):
        found = sort(self, dim, largest)
        return _Pair(found.values.narrow(dim, 0, k), found.indices.narrow(dim, 0, k), 'topk')
    if not short:
        refuse(f'topk of {self.numel()} elements in rows of {n} is supported for k from 1 to {rounds} of floating-point tensors')
    x, number, slot = self.movedim(dim, -1), torch.arange(n), torch.arange(k)
    values = indices = 0
    for i in _range(k):
        if largest:
            value, index, nothing = _max_dim(x, -1, True), _argmax(x, -1, True), -torch.inf
        else:
            value, index, nothing = _min_dim(x, -1, True), _argmin(x, -1, True), torch.inf
        x = torch.where(number == index, nothing, x)
        values, indices = torch.where(slot == i, value, values), torch.where(slot == i, index, indices)
    return _Pair(_back(values, dim), _back(indices, dim))


def kthvalue(self, k, dim=-1, keepdim=False):
    if not self.ndim:
        return _of_row(lambda x, d: kthvalue(x, k, d), self, dim, name='kthvalue')
    found = sort(self, dim)
    if not 1 <= k <= self.size(dim):
        raise IndexError('kthvalue(): selected number k out of range for dimension')
    values, indices = found.values.narrow(dim, k - 1, 1), found.indices.narrow(dim, k - 1, 1)
    return _Pair(values, indices) if keepdim else _Pair(_squeeze(values, dim), _squeeze(indices, dim))


def median(self, dim=None, keepdim=False):
    """The lower of two middle elements; nan if there is one."""
    if dim is None and not self.numel():
        return torch.full((), torch.nan, dtype=self.dtype)
    if dim is None:
        return median(self.flatten(), 0).values
    if not self.ndim:
        return _of_row(median, self, dim, name='median')
    found = kthvalue(self, (self.size(dim) + 1) // 2, dim, keepdim)
    if not self.is_floating_point():
        return found
    bad = (self != self).any(dim, keepdim)
    return _Pair(torch.where(bad, torch.nan, found.values),
                 torch.where(bad, _argmax(self != self, dim, keepdim), found.indices))


def nanmedian(self, dim=None, keepdim=False):
    """The lower of two middle elements of those that are numbers: NaN is sorted behind them."""
    if dim is None:
        return nanmedian(self.flatten(), 0).values if self.numel() else torch.full((), torch.nan, dtype=self.dtype)
    if not self.ndim:
        return _of_row(nanmedian, self, dim, name='nanmedian')
    found = sort(self, dim)
    place = ((self == self).sum(dim, True) - 1).clamp(min=0) // 2
    values, indices = found.values.gather(dim, place), found.indices.gather(dim, place)
    if not keepdim:
        values, indices = _squeeze(values, dim), _squeeze(indices, dim)
    return _Pair(values, indices, 'nanmedian')


def histc(self, bins=100, min=0, max=0):
    """How many elements lie in each of `bins` parts of the range, the last of which has its end."""
    x = self.reshape(-1)
    if min == max and min == 0 and x.numel():
        min, max = _min(x), _max(x)
    low, high = (torch.as_tensor(end).to(self.dtype) for end in (min, max))
    low, high = _where(low == high, low - 1, low), _where(low == high, high + 1, high)
    place = ((x - low) * bins / (high - low)).floor()
    place = _where(x == high, bins - 1, place)
    return ((place.unsqueeze(1) == torch.arange(bins)) & ((x >= low) & (x <= high)).unsqueeze(1)).sum(0).to(self.dtype)


def histogram(self, bins, *, range=None, weight=None, density=False):
    """Of bins between neighbouring edges, the last of which has its end; edges are given, or go evenly from end to end."""
    x, edges = self.reshape(-1), bins
    if isinstance(bins, int):
        low, high = range if range is not None else (_min(x), _max(x)) if x.numel() else (0.0, 1.0)
        low, high = (torch.as_tensor(end).to(self.dtype) for end in (low, high))
        half = _where(low == high, 0.5, 0.0).to(self.dtype)
        edges = torch.linspace(low - half, high + half, bins + 1, dtype=self.dtype)
    x, last = x.unsqueeze(1), torch.arange(edges.numel() - 1) == edges.numel() - 2
    inside = (x >= edges[:-1]) & ((x < edges[1:]) | last & (x == edges[-1]))
    hist = (inside if weight is None else _where(inside, weight.reshape(-1, 1), 0)).sum(0).to(self.dtype)
    return _Histogram(hist / (hist.sum() * (edges[1:] - edges[:-1])) if density else hist, edges)


def frexp(self):
    """x = mantissa * 2^exponent, the mantissa from a half up to one. A power of two is halved, as one may be no number."""
    x = self.detach().double()
    plain = (x == 0) | ~x.isfinite()
    e = (_where(plain, 1, x.abs()).log2().floor() + 1)
    scaled = lambda v, n: v * (-(n / 2).floor()).exp2() * ((n / 2).floor() - n).exp2()
    m = scaled(x.abs(), e)
    e = _where(plain, 0, e + (m >= 1).to(e.dtype) - (m < 0.5).to(e.dtype))
    return _Parts(_where(plain, self, scaled(self.double(), e).to(self.dtype)), e.to(torch.int32))


_Histogram, _Parts = namedtuple('histogram', 'hist bin_edges'), namedtuple('frexp', 'mantissa exponent')


def nonzero_static(self, *, size, fill_value=-1):
    """The places of the first `size` elements that are not 0, and fill_value where there are fewer."""
    on = (self != 0).reshape(-1)
    number = on.cumsum(0) - 1
    where = (number.unsqueeze(0) == torch.arange(size).unsqueeze(1)) & on
    at = (where * torch.arange(on.numel())).sum(1)
    places = [p for p in torch.unravel_index(at, self.shape)] if self.ndim else []
    found = torch.arange(size) < on.sum()
    return torch.stack([_where(found, p, fill_value) for p in places], 1) if places else torch.zeros(size, 0, dtype=torch.int64)


def cov(self, *, correction=1, fweights=None, aweights=None):
    """Rows are variables."""
    if self.ndim > 2:
        raise RuntimeError('cov(): expected input to have two or fewer dimensions')
    x = self.reshape(1, -1) if self.ndim < 2 else self
    w = 1 if fweights is None else fweights
    w = w if aweights is None else w * aweights
    total = w.sum() if isinstance(w, torch.Tensor) else x.size(1)
    left = total - correction * (1 if aweights is None else (w * aweights).sum() / total)
    x = x - (x * w).sum(1, keepdim=True) / total
    out = (x * w) @ x.conj().t() / (left.clamp(min=0) if isinstance(left, torch.Tensor) else _most(left, 0.0))
    return out.squeeze()


def corrcoef(self):
    c = cov(self)
    if not c.ndim:
        return c / c
    s = c.diagonal().sqrt()
    return (c / s.unsqueeze(0) / s.unsqueeze(1)).clamp(-1, 1)


def ldexp(self, other):
    """Of the type of both, and of the default one for two integers; powers of two in f32 at least."""
    if self.is_complex() or other.is_complex():
        return self * 2.0 ** other
    own = torch.result_type(self, other)
    own = own if own.is_floating_point else torch.get_default_dtype()
    wide = own if own == torch.float64 else torch.float32
    return (self * 2.0 ** other.to(wide)).to(own)


def gcd(self, other):
    """Euclid's, in as many steps as the numbers of Fibonacci take that are the largest of the type."""
    for x in (self, other):
        if x.is_floating_point() or x.dtype == torch.bool:
            raise RuntimeError(f'"gcd" not implemented for {x.dtype}')
    a, b = torch.broadcast_tensors((self + other * 0).abs(), (other + self * 0).abs())
    for _ in _range({1: 13, 2: 24, 4: 46, 8: 92}[a.element_size()]):
        a, b = _where(b == 0, a, b), _where(b == 0, 0, a % _where(b == 0, 1, b))
    return a


def lcm(self, other):
    divisor = gcd(self, other)
    return (self // _where(divisor == 0, 1, divisor) * other).abs()


def igamma(self, other):
    return torch.igamma(self, other)


def igammac(self, other):
    return torch.igammac(self, other)


def mvlgamma(self, p):
    shifts = torch.arange(p, dtype=self.dtype) / 2
    return (self.unsqueeze(-1) - shifts).lgamma().sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def quantile(self, q, dim=None, keepdim=False, *, interpolation='linear'):
    """Between two neighbours of the sorted row; q: a number, or a tensor whose dimension comes first."""
    if dim is not None and not self.ndim:
        return quantile(self.reshape(1), q, dim, interpolation=interpolation)
    if dim is None:
        out = quantile(self.flatten(), q, 0, interpolation=interpolation)
        return out.reshape(list(out.shape) + [1] * self.ndim) if keepdim else out
    if interpolation not in ('linear', 'lower', 'higher', 'midpoint', 'nearest'):
        raise RuntimeError('quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, '
                           f'but got {interpolation}')
    rows, last = sort(self, dim).values.movedim(dim, 0), self.size(dim) - 1
    if torch.is_tensor(q):
        at = q * last
        low, high, nearest = at.floor().long(), at.ceil().long(), torch.round(at).long()
        part = (at - at.floor()).reshape(list(q.shape) + [1] * (rows.ndim - 1))
    else:
        low, high = math.floor(q * last), math.ceil(q * last)
        part = q * last - low
        nearest = low if part < 0.5 or part == 0.5 and low % 2 == 0 else high  # halves to even
    if interpolation == 'linear':
        out = torch.lerp(rows[low], rows[high], part)
    elif interpolation == 'midpoint':
        out = torch.lerp(rows[low], rows[high], 0.5)
    else:
        out = rows[{'lower': low, 'higher': high, 'nearest': nearest}[interpolation]]
    bad = (self != self).any(dim)
    out = torch.where(bad, torch.nan, out)
    return out.unsqueeze(dim if dim < 0 or not torch.is_tensor(q) else dim + q.ndim) if keepdim else out


def nanquantile(self, q, dim=None, keepdim=False, *, interpolation='linear'):
    """Of each row's numbers: NaN is sorted behind them."""
    if dim is None:
        out = nanquantile(self.flatten(), q, 0, interpolation=interpolation)
        return out.reshape(list(out.shape) + [1] * self.ndim) if keepdim else out
    if not self.ndim:
        return nanquantile(self.reshape(1), q, dim, interpolation=interpolation)
    rows, many = sort(self, dim).values.movedim(dim, -1), (self == self).sum(dim, True).movedim(dim, -1)
    given = q if torch.is_tensor(q) else torch.tensor(q, dtype=self.dtype)
    at = given.reshape(-1) * (many - 1).clamp(min=0)
    low, high = at.floor(), at.ceil()
    value = lambda place: rows.gather(-1, place.long())
    if interpolation == 'linear':
        out = torch.lerp(value(low), value(high), at - low)
    elif interpolation == 'midpoint':
        out = torch.lerp(value(low), value(high), 0.5)
    else:
        out = value({'lower': low, 'higher': high, 'nearest': torch.round(at)}[interpolation])
    out = torch.where(many == 0, torch.nan, out)
    out = out.movedim(-1, 0) if given.ndim else out.squeeze(-1)
    return out.unsqueeze(dim if dim < 0 or not given.ndim else dim + 1) if keepdim else out


def _need_rank(name, tensor, rank):
    if tensor.ndim != rank:
        raise RuntimeError(f'{name}: expected a tensor of {rank} dimension{"s" if rank > 1 else ""}, '
                           f'got {list(tensor.shape)}')


def dot(self, tensor):
    _need_rank('dot', self, 1)
    _need_rank('dot', tensor, 1)
    return _matmul(self, tensor)


def mv(self, vec):
    _need_rank('mv', self, 2)
    _need_rank('mv', vec, 1)
    return _matmul(self, vec)


def _int_mm(self, mat2):
    for name, x in (('self', self), ('mat2', mat2)):
        if x.ndim != 2:
            raise RuntimeError(f'_int_mm: {name} must be a matrix, got {x.ndim}-D tensor')
        if x.dtype not in (torch.int8, torch.uint8):
            raise RuntimeError(f'_int_mm: expected {name} to be int8 or uint8 but got {x.dtype}')
    return torch.mm(self.to(torch.int32), mat2.to(torch.int32))


def _scaled_mm(self, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    """Products of float8, summed up in float32; a scale of all of a factor, or one for each row of self, each column of mat2."""
    for name, x in (('self', self), ('mat2', mat2)):
        if x.ndim != 2:
            raise RuntimeError(f'_scaled_mm: {name} must be a matrix, got {x.ndim}-D tensor')
        if x.dtype not in (torch.float8_e4m3fn, torch.float8_e5m2):
            raise RuntimeError(f'_scaled_mm: expected {name} to be a float8 tensor, got {x.dtype}')
    out = _mm_float8(self, mat2) * scale_a * scale_b
    if bias is not None:
        out = out + bias
    if scale_result is not None:
        out = out * scale_result
    return out.to(self.dtype if out_dtype is None else out_dtype)


def cfloat(self, memory_format=None):
    return self.to(torch.complex64)


def cdouble(self, memory_format=None):
    return self.to(torch.complex128)


def vdot(self, other):
    return dot(self.conj(), other)


def outer(self, vec2):
    _need_rank('outer', self, 1)
    _need_rank('outer', vec2, 1)
    return self.unsqueeze(1) * vec2


ger = outer


def _plus_product(self, product, beta, alpha):
    if product.dtype == self.dtype == torch.bool:
        return product & (alpha != 0) | self & (beta != 0)
    if not product.is_floating_point() and not product.is_complex():  # as PyTorch's integers take weights
        beta, alpha = int(beta), int(alpha)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (self if beta == 1 else self * beta)


def _numbers_last(function):
    """addmv(beta, self, alpha, mat, vec), as earlier versions had it, which PyTorch still takes."""
    def called(*args, **kwargs):
        if len(args) > 3 and isinstance(args[-1], torch.Tensor):
            tensors = [x for x in args if isinstance(x, torch.Tensor)]
            args = tensors + [x for x in args if not isinstance(x, torch.Tensor)]
        return function(*args, **kwargs)
    called.__name__ = function.__name__
    return called


@_numbers_last
def addmv(self, mat, vec, beta=1, alpha=1):
    return _plus_product(self, mv(mat, vec), beta, alpha)


@_numbers_last
def addr(self, vec1, vec2, beta=1, alpha=1):
    return _plus_product(self, outer(vec1, vec2), beta, alpha)


@_numbers_last
def addbmm(self, batch1, batch2, beta=1, alpha=1):
    return _plus_product(self, torch.bmm(batch1, batch2).sum(0, dtype=batch1.dtype), beta, alpha)


def count_nonzero(self, dim=None):
    return (self != 0).sum(dim)


def bincount(self, weights=None, minlength=0):
    """How often each number is there. In a graph the length cannot follow the numbers: all are below minlength."""
    if self.ndim != 1 or self.is_floating_point():
        raise RuntimeError('bincount only supports 1-d non-negative integral inputs.')
    n = minlength
    if is_known(self):
        most = _max(self).item() + 1 if self.numel() else 0
        n = most if most > n else n
    elif n < 1:
        graph_break('length of the result of bincount()', 'minlength=n, with all numbers below n, says it')
    if weights is None:
        weights = torch.ones_like(self, dtype=torch.int64)
    elif weights.dtype != torch.float32:
        weights = weights.double()
    return torch.zeros(n, dtype=weights.dtype).scatter_add(0, self.long(), weights)


_div, _floor_divide, _trunc, _round, _where = op('div'), op('floor_divide'), op('trunc'), op('round'), op('where')
_unsqueeze, _transpose, _index = op('unsqueeze'), op('transpose'), op('index')


def div(self, other, rounding_mode=None):
    if not any([torch.is_tensor(x) or torch.is_complex(x) for x in (self, other)]):
        self = torch.tensor(self)
    if rounding_mode is None:
        return _div(self, other)
    if rounding_mode == 'floor':
        return _floor_divide(self, other)
    if rounding_mode != 'trunc':
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    if torch.is_tensor(self) and not self.is_floating_point() and isinstance(other, int):
        other = torch.full((), other, dtype=self.dtype)
    if torch.is_tensor(other) and not self.is_floating_point() and not other.is_floating_point():
        down = _floor_divide(self, other)
        return down + ((down * other != self) & ((self < 0) != (other < 0)))
    return _trunc(_div(self, other))


divide = div


def round(self, decimals=0):
    return _round(self * 10.0 ** decimals) / 10.0 ** decimals if decimals else _round(self)


def where(self, condition, other):
    return _where(condition, self, other)


def aminmax(self, dim=None, keepdim=False):
    if dim is None:
        return _Pair2(_min(self), _max(self))
    return _Pair2(_amin(self, dim, keepdim), _amax(self, dim, keepdim))


class _Pair2(_Pair):
    min = property(lambda self: self.values)
    max = property(lambda self: self.indices)


def repeat_interleave(self, repeats=None, dim=None, *, output_size=None):
    """A tensor of repeats says of each row how often: row i comes where as many of all rows before it are over."""
    if repeats is None:
        self, repeats = torch.arange(self.size(0), device=self.device), self
    if not isinstance(repeats, torch.Tensor):
        return _repeat_interleave(self, repeats, dim)
    if dim is None:
        self, dim = self.reshape(-1), 0
    repeats = repeats.expand(self.size(dim))
    if output_size is None and not is_known(repeats):
        graph_break('shape of Tensor.repeat_interleave()', 'output_size=n says it')
    total = repeats.sum().item() if output_size is None else output_size
    return self.index_select(dim, torch.searchsorted(repeats.cumsum(0), torch.arange(total), right=True))


def fliplr(self):
    return self.flip(1)


def flipud(self):
    return self.flip(0)


def rot90(self, k=1, dims=(0, 1)):
    a, b = dims
    if k % 4 == 1:
        return _transpose(self.flip(b), a, b)
    if k % 4 == 2:
        return self.flip([a, b])
    return _transpose(self, a, b).flip(b) if k % 4 == 3 else self.clone()


def diff(self, n=1, dim=-1, prepend=None, append=None):
    parts = [x for x in (prepend, self, append) if x is not None]
    if n and len(parts) > 1:
        self = torch.cat(parts, dim)
    for _ in _range(n):
        size = self.size(dim)
        next, last = _slice(self, dim, 1, size), _slice(self, dim, 0, size - 1)
        self = next ^ last if self.dtype == torch.bool else next - last
    return self


def diagflat(self, offset=0):
    return diag_embed(self.flatten(), offset)


def sum_to_size(self, *size):
    size = list(size[0]) if len(size) == 1 and isinstance(size[0], (list, tuple)) else list(size)
    if not size:
        return self.sum()
    first = self.ndim - len(size)
    if first < 0 or [n for n, own in zip(size, self.shape[_most(first, 0):]) if n != own and n != 1]:
        raise RuntimeError(f'size {{{size}}} is not expandable to size {{{list(self.shape)}}}.')
    summed = [d for d in _range(self.ndim) if d < first or size[d - first] == 1 and self.size(d) != 1]
    return (self.sum(summed, True) if summed else self).reshape(size)


def isreal(self):
    if torch.is_complex(self):
        return self.imag == 0
    return torch.ones(self.shape, dtype=torch.bool)


def trace(self):
    _need_rank('trace', self, 2)
    return self.diagonal().sum()


def diag_embed(self, offset=0, dim1=-2, dim2=-1):
    n = self.size(-1) + abs(offset)
    rows = torch.arange(n).unsqueeze(1)
    hit = rows + offset == torch.arange(n)
    place = (rows if offset >= 0 else rows + offset).clamp(0, self.size(-1) - 1).squeeze(1)
    values = _index(self, [place], [self.ndim - 1])
    return _where(hit, _unsqueeze(values, -1), 0).to(self.dtype).movedim((-2, -1), (dim1, dim2))


def cross(self, other, dim=-1):
    if self.size(dim) != 3:
        raise RuntimeError(f'cross: dimension {dim} must have size 3, got {self.size(dim)}')
    return self.roll(-1, dim) * other.roll(-2, dim) - self.roll(-2, dim) * other.roll(-1, dim)


def kron(self, other):
    n = self.ndim if self.ndim > other.ndim else other.ndim
    a, b = [1] * (n - self.ndim) + list(self.shape), [1] * (n - other.ndim) + list(other.shape)
    left = self.reshape([size for pair in zip(a, [1] * n) for size in pair])
    right = other.reshape([size for pair in zip([1] * n, b) for size in pair])
    return (left * right).reshape([x * y for x, y in zip(a, b)])


def matrix_power(self, n):
    if n < 0:
        self, n = torch.linalg.inv(self), -n
    if not n:
        return torch.eye(self.shape[-1], dtype=self.dtype).expand(self.shape)
    power = None
    while n:
        if n & 1:
            power = self if power is None else power @ self
        n >>= 1
        if n:
            self = self @ self
    return power


def _product(sizes):
    n = 1
    for size in sizes:
        n = n * size
    return n


def tensordot(self, other, dims=2):
    if isinstance(dims, int):
        dims = (list(_range(self.ndim - dims, self.ndim)), list(_range(dims)))
    a, b = [[dims[0]] if isinstance(dims[0], int) else list(dims[0]), [dims[1]] if isinstance(dims[1], int) else list(dims[1])]
    a, b = [d % self.ndim for d in a], [d % other.ndim for d in b]
    for d, e in zip(a, b):  # one element stands for all
        if self.size(d) != 1 and other.size(e) == 1:
            self = self.sum(d, keepdim=True)
        elif self.size(d) == 1 and other.size(e) != 1:
            other = other.sum(e, keepdim=True)
    rows, columns = [d for d in _range(self.ndim) if d not in a], [d for d in _range(other.ndim) if d not in b]
    high, wide = [self.size(d) for d in rows], [other.size(d) for d in columns]
    depth = _product([self.size(d) for d in a])
    left = self.permute(rows + a).reshape(_product(high), depth)
    return _matmul(left, other.permute(b + columns).reshape(depth, _product(wide))).reshape(high + wide)


def inner(self, other):
    return self * other if self.ndim == 0 or other.ndim == 0 else tensordot(self, other, ([-1], [-1]))


def nansum(self, dim=None, keepdim=False, dtype=None):
    return _where(self != self, 0, self).sum(dim, keepdim, dtype)


def nanmean(self, dim=None, keepdim=False, dtype=None):
    return nansum(self, dim, keepdim, dtype) / (self == self).sum(dim, keepdim)


def logcumsumexp(self, dim):
    """By the running maximum m: pairs (m, sum of exp(x - m)) are not there, so all differences are taken."""
    if torch.is_complex(self):
        return self.logcumsumexp(dim)
    if not self.ndim:
        return _of_row(logcumsumexp, self, dim)
    n = self.size(dim)
    if n > 1024:
        refuse(f'logcumsumexp of more than 1024 elements is not supported, got {n}')
    x = self.movedim(dim, -1)
    earlier = torch.arange(n) <= torch.arange(n).unsqueeze(1)
    return _back(_where(earlier, _unsqueeze(x, -2), -torch.inf).logsumexp(-1), dim)


def tensor_split(self, indices_or_sections=None, dim=0, *, indices=None, sections=None):
    n, k = self.size(dim), [k for k in (indices_or_sections, indices, sections) if k is not None][0]
    if isinstance(k, torch.Tensor):
        if not computes():
            graph_break('sizes of tensor_split()', 'numbers in place of a tensor say them')
        k = k.tolist()
    if isinstance(k, int):
        edges = [0]
        for i in _range(k):
            edges.append(edges[-1] + n // k + (i < n % k))
    else:
        edges = [0] + list(k) + [n]
    return tuple([_slice(self, dim, a, b) for a, b in zip(edges, edges[1:])])


def hsplit(self, indices_or_sections):
    return tensor_split(self, indices_or_sections, 0 if self.ndim == 1 else 1)


def vsplit(self, indices_or_sections):
    return tensor_split(self, indices_or_sections, 0)


def dsplit(self, indices_or_sections):
    return tensor_split(self, indices_or_sections, 2)


def _strided_places(self, size, stride, storage_offset):
    """The places in memory, of what fills it in order."""
    if len(size) != len(stride):
        raise RuntimeError('mismatch in length of strides and shape')
    if not _fills_memory(self):
        refuse('as_strided() of a view is not supported; clone() it')
    first = storage_offset or 0
    last = first + sum([(n - 1) * step for n, step in zip(size, stride)]) if math.prod(size) else 0
    if last >= self.numel() and math.prod(size):
        refuse('as_strided() of more memory than the tensor fills is not supported')
    places = torch.full([1] * len(size), first, dtype=torch.int64).expand(size)
    for d, n in enumerate(size):
        places = places + (torch.arange(n) * stride[d]).reshape([-1] + [1] * (len(size) - 1 - d))
    return places


def as_strided(self, size, stride, storage_offset=None):
    """A copy, in which nothing can be updated."""
    return _copy_of_view(self, self.reshape(-1)[_strided_places(self, list(size), list(stride), storage_offset)])


def as_strided_(self, size, stride, storage_offset=None):
    return reshaped(self, as_strided(self, size, stride, storage_offset))


def as_strided_scatter(self, src, size, stride, storage_offset=None):
    places = _strided_places(self, list(size), list(stride), storage_offset)
    flat = self.reshape(-1).index_put((places.reshape(-1),), src.reshape(-1))
    return flat.reshape(self.shape)


unsafe_chunk, unsafe_split, unsafe_split_with_sizes = chunk, split, split_with_sizes


_narrow = op('narrow')


def narrow(self, dim, start, length):
    """A start that is a tensor is looked up."""
    if not isinstance(start, torch.Tensor):
        return _narrow(self, dim, start, length)
    return self.index_select(dim, _where(start < 0, start + self.size(dim), start) + torch.arange(length))


def narrow_copy(self, dim, start, length):
    return self.narrow(dim, start, length).clone()


def new_empty_strided(self, size, stride, dtype=None, **placement):
    return torch.empty_strided(size, stride, dtype=dtype or self.dtype, **placement)


def resize_(self, *size, memory_format=None):
    size = size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size
    n = math.prod(size)
    if n <= self.numel():
        return reshaped(self, self.view(-1)[:n].view(size))
    if self.numel():
        refuse('resize_() that makes a tensor larger is not supported')
    return reshaped(self, torch.empty(size, dtype=self.dtype))


def resize_as_(self, other, memory_format=None):
    return resize_(self, other.shape)


def _becomes(self, op, *args):
    """It becomes that view of itself. What is no leaf stays none under no_grad(): gradients go through the view."""
    computed = not self.is_leaf or (self.requires_grad and not is_known(self))  # or in a graph
    before = _set_grad_mode(_grad_mode() or computed)
    try:
        view = op(self, *args)
    finally:
        _set_grad_mode(before)
    return reshaped(self, view)


def unsqueeze_(self, dim):
    return _becomes(self, _unsqueeze, dim)


def squeeze_(self, dim=None):
    return _becomes(self, squeeze, dim)


def transpose_(self, dim0, dim1):
    return _becomes(self, _transpose, dim0, dim1)


def t_(self):
    return _becomes(self, _transpose, 0, 1) if self.ndim == 2 else self


def unfold(self, dimension, size, step):
    return _unfold(self, dimension, size, step) if self.ndim else self.reshape(1)[:size]


def ravel(self):
    return self.reshape(-1)


def adjoint(self):
    return self.mT


def _axis(self, dim, index):
    """Of the elements of dim: is it one of index, and the last place in index where it stands?"""
    rest = [1] * (self.ndim - 1 - dim % self.ndim)
    hit = torch.arange(self.size(dim)).unsqueeze(1) == index
    place = _where(hit, torch.arange(index.numel()), -1).amax(1)
    return (place >= 0).reshape([-1] + rest), place.clamp(min=0)


def index_copy(self, dim, index, source):
    if not self.ndim:
        return index_copy(self.reshape(1), dim, index, source.reshape(1)).reshape(())
    hit, place = _axis(self, dim, index)
    return _where(hit, _index(source, [place], [dim % self.ndim]), self)


def index_copy_(self, dim, index, source):
    return assign(self, index_copy(self, dim, index, source))


def index_fill(self, dim, index, value):
    if not self.ndim:
        return index_fill(self.reshape(1), dim, index, value).reshape(())
    hit, _ = _axis(self, dim, index)
    return _where(hit, value, self).to(self.dtype)


def index_fill_(self, dim, index, value):
    return assign(self, index_fill(self, dim, index, value))


def fill_diagonal_(self, fill_value, wrap=False):
    if wrap and self.ndim == 2 and self.size(0) > self.size(1):
        refuse('fill_diagonal_() that wraps around is not supported')
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError('all dimensions of input must be of equal length')
    hit = torch.ones(self.shape, dtype=torch.bool)
    for d in range(1, self.ndim):
        along = [-1 if d == other else 1 for other in range(self.ndim)]
        first = [-1 if other == 0 else 1 for other in range(self.ndim)]
        hit = hit & (torch.arange(self.size(0)).view(first) == torch.arange(self.size(d)).view(along))
    return assign(self, _where(hit, fill_value, self).to(self.dtype))


def conj(self):
    """There are no complex tensors: each is its own."""
    return self
conj_physical = conj_physical_ = resolve_conj = resolve_neg = conj


def angle(self):
    """Half a turn where it is negative."""
    x = self if self.is_floating_point() else self.float()
    return _where(x != x, x, (x < 0).to(x.dtype) * math.pi) if self.dtype != torch.bool else x * 0


_take_along_dim = op('take_along_dim')


def take_along_dim(self, indices, dim=None):
    """As PyTorch, takes places that count from the end, along a dimension."""
    if dim is not None and self.ndim:
        indices = _where(indices < 0, indices + self.size(dim), indices)
    return _take_along_dim(self, indices, dim)


def index_put(self, indices, values, accumulate=False):
    indices, numbers = tuple(indices), torch.arange(self.numel()).reshape(self.shape)
    if not accumulate:
        out = self.clone()
        out[indices[0] if len(indices) == 1 else indices] = values
        return out
    places = numbers[indices]
    values = torch.zeros(places.shape, dtype=self.dtype) + values
    return self.reshape(-1).scatter_add(0, places.reshape(-1), values.reshape(-1)).reshape(self.shape)


def put(self, index, source, accumulate=False):
    flat = index_put(self.reshape(-1), (index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(self.shape)


def put_(self, index, source, accumulate=False):
    return assign(self, put(self, index, source, accumulate))


def index_put_(self, indices, values, accumulate=False):
    return assign(self, index_put(self, indices, values, accumulate))


def scatter(self, dim, index, src=None, *, value=None, reduce=None):
    src = value if src is None else src
    if reduce is None:
        return _scatter(self, dim, index, src)
    if reduce not in ('add', 'multiply'):
        raise RuntimeError('reduce argument must be either add or multiply.')
    src = src if isinstance(src, torch.Tensor) else torch.full(index.shape, src, dtype=self.dtype)
    if reduce == 'add':
        return self.scatter_add(dim, index, src)
    return scatter_reduce(self, dim, index, src, 'prod')


def scatter_(self, dim, index, src=None, *, value=None, reduce=None):
    return assign(self, scatter(self, dim, index, src, value=value, reduce=reduce))


def _replaced(self, on, part, src, spread):
    """Where on, what is spread of src, which takes the place of that part of self."""
    if part.shape != src.shape:
        raise RuntimeError(f'expected src to have a size equal to the part of self, {list(part.shape)}, got {list(src.shape)}')
    return _where(on, spread(src.to(self.dtype)), self)


def select_scatter(self, src, dim, index):
    dim, n = dim % self.ndim, self.size(dim)
    on = (torch.arange(n) == index % n).reshape([n] + [1] * (self.ndim - 1 - dim))
    return _replaced(self, on, _select(self, dim, index), src, lambda s: _unsqueeze(s, dim))


def slice_scatter(self, src, dim=0, start=None, end=None, step=1):
    dim = dim % self.ndim
    n, first = self.size(dim), start or 0
    first = _least(_most(first + n if first < 0 else first, 0), n)
    part = self[tuple([slice(None)] * dim + [slice(start, end, step)])]
    place = torch.arange(n) - first
    on = (place >= 0) & (place % step == 0) & (place // step < part.size(dim))
    if part.numel() == 0:
        return self.clone()
    at = (place // step).clamp(0, part.size(dim) - 1)
    return _replaced(self, on.reshape([n] + [1] * (self.ndim - 1 - dim)), part, src, lambda s: _index(s, [at], [dim]))


def diagonal_scatter(self, src, offset=0, dim1=0, dim2=1):
    part = diagonal(self, offset, dim1, dim2)
    if part.numel() == 0:
        return self.clone()
    rows, columns = torch.arange(self.size(dim1)), torch.arange(self.size(dim2))
    at = (rows if offset >= 0 else columns).clamp(max=part.size(-1) - 1)
    spread = lambda s: _unsqueeze(_index(s, [at], [s.ndim - 1]), -1 if offset >= 0 else -2)
    moved = self.movedim([dim1, dim2], [-2, -1])
    return _replaced(moved, columns - _unsqueeze(rows, 1) == offset, part, src, spread).movedim([-2, -1], [dim1, dim2])


def masked_scatter(self, mask, source):
    """The elements of source, one after the other, where mask is."""
    self, mask = torch.broadcast_tensors(self, mask)
    if source.numel() == 0:
        return self.clone()
    at = (mask.reshape([-1]).cumsum(0) - 1).clamp(0, source.numel() - 1)
    return _where(mask, _index(source.reshape([-1]), [at], [0]).reshape(mask.shape), self)


def masked_scatter_(self, mask, source):
    return assign(self, masked_scatter(self, mask, source))


def scatter_reduce(self, dim, index, src, reduce, *, include_self=True):
    """Each element looks at all of src that may land on it."""
    if not self.ndim:
        whole = (x.reshape(1) for x in (self, index, src))
        return scatter_reduce(next(whole), 0, next(whole), next(whole), reduce, include_self=include_self).reshape(())
    dim = dim % self.ndim
    for d in _range(self.ndim):
        n = index.size(d)
        src = _slice(src, d, 0, n) if src.size(d) > n else src
        if d != dim and n < self.size(d):  # what is beyond the index stays
            head = scatter_reduce(_slice(self, d, 0, n), dim, index, src, reduce, include_self=include_self)
            return torch.cat([head, _slice(self, d, n, self.size(d))], d)
    x, at, src = self.movedim(dim, -1), index.movedim(dim, -1), src.movedim(dim, -1)
    hit = _unsqueeze(at, -2) == torch.arange(x.size(-1)).unsqueeze(1)
    many = hit.sum(-1)
    one = include_self + 0
    least, most = (-torch.inf, torch.inf) if self.is_floating_point() else (False, True)
    if not self.is_floating_point() and self.dtype != torch.bool:
        least, most = torch.iinfo(self.dtype).min, torch.iinfo(self.dtype).max
    own = lambda none: x if include_self else torch.full_like(x, none)
    among = lambda none: _where(hit, _unsqueeze(src, -2), none)
    if reduce == 'sum' or reduce == 'mean':
        out = own(0) + among(0).sum(-1)
        whole = None if self.is_floating_point() else 'floor'
        out = div(out, (many + one).clamp(min=1), rounding_mode=whole) if reduce == 'mean' else out
    elif reduce == 'prod':
        out = own(1) * among(1).prod(-1)
    elif reduce == 'amax':
        out = torch.maximum(own(least), among(least).amax(-1))
    elif reduce == 'amin':
        out = torch.minimum(own(most), among(most).amin(-1))
    else:
        raise RuntimeError('reduce argument must be either sum, prod, mean, amax or amin, got ' + reduce)
    return _back(_where(many == 0, x, out).to(self.dtype), dim)


def index_reduce(self, dim, index, source, reduce, *, include_self=True):
    """scatter_reduce() of whole slices of source, of which index has the places."""
    if reduce not in ('prod', 'mean', 'amax', 'amin'):
        raise RuntimeError('index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ' + reduce + '.')
    if not source.ndim:
        return index_reduce(self.reshape(1), 0, index.reshape(1), source.reshape(1), reduce, include_self=include_self).reshape(self.shape)
    place = index.reshape([-1] + [1] * (source.ndim - 1 - dim % source.ndim))
    return scatter_reduce(self, dim, place.expand(source.shape), source, reduce, include_self=include_self)


def index_reduce_(self, dim, index, source, reduce, *, include_self=True):
    return assign(self, index_reduce(self, dim, index, source, reduce, include_self=include_self))


def scatter_reduce_(self, dim, index, src, reduce, *, include_self=True):
    return assign(self, scatter_reduce(self, dim, index, src, reduce, include_self=include_self))


def masked_select(self, mask):
    self, mask = torch.broadcast_tensors(self, mask)
    return self[mask]


def argwhere(self):
    return nonzero(self)


def _values_for(name, self, dim):
    if not is_known(self):
        graph_break(f'shape of Tensor.{name}()', 'torch.bincount counts integers')
    if dim is not None:
        refuse(f'{name}() along a dimension is not supported')
    return self.detach().flatten().tolist()


def _uniques(self, values, numbers, counts):
    """numbers, counts: lists, or False where they were not asked for."""
    found = [torch.tensor(values, dtype=self.dtype)]
    if numbers is not False:
        found.append(torch.tensor(numbers, dtype=torch.int64).reshape(self.shape))
    if counts is not False:
        found.append(torch.tensor(counts, dtype=torch.int64))
    return found[0] if len(found) == 1 else tuple(found)


def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """Of a trace it would be of a shape that values decide; where they are known it is made of a list."""
    flat = _values_for('unique', self, dim)
    values = _sorted(set(flat), key=lambda v: (v != v, v))
    place = {v: i for i, v in enumerate(values)}
    numbers, counts = [place[v] for v in flat], [0] * len(values)
    for i in numbers:
        counts[i] += 1
    return _uniques(self, values, return_inverse and numbers, return_counts and counts)


def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    values, counts, numbers = [], [], []
    for v in _values_for('unique_consecutive', self, dim):
        if not values or values[-1] != v:
            values.append(v)
            counts.append(0)
        counts[-1] += 1
        numbers.append(len(values) - 1)
    return _uniques(self, values, return_inverse and numbers, return_counts and counts)


def mode(self, dim=-1, keepdim=False):
    """The smallest of the most frequent values, and where it is last; nan equals nothing."""
    if not self.ndim:
        return _of_row(mode, self, dim, name='mode')
    if not self.numel():
        none = self.sum(dim, keepdim)
        return _Pair(none.to(self.dtype), none.to(torch.int64), 'mode')
    n = self.size(dim)
    x = self.movedim(dim, -1)
    counts = (x.unsqueeze(-1) == x.unsqueeze(-2)).sum(-1).clamp(min=1)
    most = counts == counts.amax(-1, True)
    number = most & (x == x)
    best = torch.where(number, x, torch.where(x == x, x, -torch.inf).amax() if x.is_floating_point() else x.amax())
    best = best.amin(-1, True)
    best = torch.where(number.any(-1, True), best, torch.nan) if x.is_floating_point() else best
    index = torch.where(most & (x == best), torch.arange(n), -1).amax(-1, True)
    values, index = _back(x.gather(-1, index), dim), _back(index, dim)
    values, index = (values, index) if keepdim else (_squeeze(values, dim), _squeeze(index, dim))
    return _Pair(values, index, 'mode')


def msort(self):
    return sort(self, 0).values


def logit(self, eps=None):
    self = self if self.is_floating_point() else self.float()
    if eps is not None and eps > 0.5:  # bounds that have changed places: the lower one is looked at first
        self = _where(self < eps, eps, _where(self > 1 - eps, 1 - eps, self))
    elif eps is not None:
        self = self.clamp(eps, 1 - eps)
    return (self / (1 - self)).log()


def sgn(self):
    return self.sign()


def rad2deg(self):
    return self * (180 / torch.pi)


def deg2rad(self):
    return self * (torch.pi / 180)


def heaviside(self, values):
    return _where(self == 0, values, (self > 0).to(self.dtype))


_DIGITS = {torch.float64: (53, -1021), torch.float32: (24, -125), torch.bfloat16: (8, -125), torch.float16: (11, -13)}


def nextafter(self, other):
    """A unit of the last digit on, in f64, where that is exact; half of one below a power of two, whose numbers are denser."""
    own = torch.result_type(self, other)
    digits, least = _DIGITS[own]
    x, to = self.double(), other.double()
    mantissa, exponent = frexp(x)
    away = (to > x) == (x > 0)
    exponent = _where((mantissa.abs() == 0.5) & ~away, exponent - 1, exponent)
    last = torch.ones_like(x).ldexp(_where(x == 0, least, exponent.clamp(min=least)) - digits)
    step = _where(to > x, last, -last)
    most = torch.finfo(own).max
    out = _where(x.isinf(), x.sign() * most, x + step)
    out = _where(out.abs() > most, out.sign() * torch.inf, out)
    return _where(x.isnan() | to.isnan(), torch.nan, _where(x == to, to, out)).to(own)


def _widest(x):
    return x if not hasattr(x, 'ndim') else x.cdouble() if x.is_complex() else x.double()


def float_power(self, exponent):
    return _widest(self) ** _widest(exponent)


def logaddexp2(self, other):
    """Two equal infinities are their own result."""
    high = torch.maximum(self, other)
    sum = high + (-(self - other).abs()).exp2().log1p() * (1 / math.log(2))
    return _where((self == other) & self.isinf(), self, sum)


def dist(self, other, p=2):
    return _norm(self - other, p)


def sinc(self):
    if self.dtype in (torch.bfloat16, torch.float16):  # a rounded pi x is another angle
        return sinc(self.float()).to(self.dtype)
    x = self * torch.pi
    return _where(self == 0, 1, x.sin() / _where(self == 0, 1, x))


def _horner(x, factors):
    out = factors[0]
    for f in factors[1:]:
        out = out * x + f
    return out


def erfinv(self):
    """M. Giles' polynomials, and Newton's steps from there, of which the last has the gradient."""
    x = self.detach()
    w = -((1 - x) * (1 + x)).log()
    near = _horner(w - 2.5, [2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
                             -0.00417768164, 0.246640727, 1.50140941])
    far = _horner(w.clamp(min=5).sqrt() - 3, [-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                              -0.0076224613, 0.00943887047, 1.00167406, 2.83297682])
    y = _where(w < 5, near, far) * x
    ends = x.abs() == 1
    if self.dtype == torch.float64:  # beyond what the polynomials are made for, by erfc's asymptote
        rest = -((1 - x.abs()) * math.sqrt(math.pi)).log()
        y = _where(w < 16, y, (rest - rest.log() / 2).sqrt() * x.sign())
    y = _where(ends, 0, y)
    for target in (x, x, self) if self.dtype == torch.float64 else (x, self):
        # far from 0 by what is left of 1, which erfc has digits of
        far = (y.abs().erfc() - (1 - target.abs())) * x.sign()
        left = _where(x.abs() < 0.5, target - y.erf(), far)
        y = y + left * (y * y).exp() * (math.sqrt(math.pi) / 2)
        y = y if target is self else y.detach()
    return _where(ends, x * math.inf, _where(x == 0, self * (math.sqrt(math.pi) / 2), y))


def erfinv_(self):
    return self.copy_(erfinv(self))


def lgamma(self):
    """Lanczos' sum, in f64, as its terms cancel; of x below a half by that of 1 - x."""
    x = self.double()
    low = x < 0.5
    z = _where(low, 1 - x, x) - 1
    factors = [676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
               -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7]
    series = 0.99999999999980993
    for i, f in enumerate(factors):
        series = series + f / (z + i + 1)
    t = z + 7.5
    above = 0.5 * math.log(2 * math.pi) + (z + 0.5) * t.log() - t + series.log()
    below = math.log(math.pi) - (_where(low, x, 0.25) * math.pi).sin().abs().log() - above
    out = _where(low, below, above)
    out = _where(x == 1, (1 - x) * 0.5772156649015329, _where(x == 2, (x - 2) * 0.4227843350984671, out))  # 0, with its slope
    out = _where(x.abs() < 1e-17, -x.abs().log(), out)
    pole = (x <= 0) & (x == x.floor()) | (x == torch.inf)  # -inf is one, too
    return _where(pole, torch.inf, out).to(self.dtype if self.is_floating_point() else torch.get_default_dtype())


def digamma(self):
    """In f64: Stirling's series of x + 8, and what the steps up to there take; below a half that of 1 - x."""
    x = self.double()
    low = x < 0.5
    z = _where(low, 1 - x, x)
    steps = 0
    for i in _range(8):
        steps = steps + 1 / (z + i)
    z = z + 8
    r = 1 / (z * z)
    series = r * _horner(r, [-1 / 12, 691 / 32760, -1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12])
    above = z.log() - 0.5 / z + series - steps
    turn = _where(low & (x != x.floor()), x - x.round(), 0.25) * math.pi
    out = _where(low, above - math.pi * turn.cos() / turn.sin(), above)
    out = _where(x == 0, _copysign(torch.full_like(x, math.inf), -x), _where((x < 0) & (x == x.floor()), math.nan, out))
    out = _where(x == math.inf, x, out)
    return out.to(self.dtype if self.is_floating_point() else torch.get_default_dtype())


_BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330]


def _zeta(s, q):
    """The sum of (q + k)^-s, q from a half on, s a whole number: eight of its terms, and Euler's and Maclaurin's rest."""
    out = 0
    for k in _range(8):
        out = out + (q + k) ** -s
    w = q + 8
    out = out + w ** (1 - s) / (s - 1) + w ** -s / 2
    factor, r, power = s * 1.0, 1 / (w * w), w ** (-s - 1)
    for j, b in enumerate(_BERNOULLI):
        out = out + power * (b * factor / math.factorial(2 * j + 2))
        factor, power = factor * (s + 2 * j + 1) * (s + 2 * j + 2), power * r
    return out


def polygamma(n, self):
    """The derivatives of digamma, in f64; below a half by those of 1 - x and of pi times cot(pi x)."""
    if isinstance(n, torch.Tensor):  # as a method
        n, self = self, n
    if n < 0:
        raise RuntimeError('polygamma(n, x) does not support negative n.')
    if not n:
        return digamma(self)
    x, sign = self.double(), 1 if n % 2 else -1
    low, pole = x < 0.5, (x <= 0) & (x == x.floor())
    above = sign * math.factorial(n) * _zeta(n + 1, _where(low, 1 - x, x))
    turn = _where(low & ~pole, x - x.round(), 0.25) * math.pi
    factors = [0, 1]  # of powers of the cotangent c, whose derivative is -pi (1 + c^2)
    for _ in _range(n):
        slope = [k * f for k, f in enumerate(factors)][1:]
        factors = [(slope[k] if k < len(slope) else 0) + (slope[k - 2] if k >= 2 else 0) for k in _range(len(factors) + 1)]
    cot = _horner(turn.cos() / turn.sin(), factors[::-1]) * (-math.pi) ** n * math.pi
    out = _where(pole, sign * math.inf, _where(low, -sign * above - cot, above))
    return out.to(self.dtype if self.is_floating_point() else torch.get_default_dtype())


def _bessel(self, order, scaled):
    """I0 or I1, in f64: the power series, whose terms are all positive, up to 16, and beyond it the asymptotic one; scaled:
    times exp(-|x|)."""
    x = self.double()
    a = x.abs()
    q, near, far = a.clamp(max=16) ** 2 / 4, 1, 1
    for k in _range(44, 0, -1):
        near = 1 + near * q / (k * (k + order))
    r = 1 / (8 * a.clamp(min=16))
    for k in _range(24, 0, -1):
        far = 1 - far * r * (4 * order * order - (2 * k - 1) ** 2) / k
    near = near * (x / 2 if order else 1) * torch.exp(-a.clamp(max=16))
    far = far * (x.sign() if order else 1) / (2 * math.pi * a.clamp(min=16)).sqrt()
    out = _where(a < 16, near, far)
    out = out if scaled else out * a.exp()
    return out.to(self.dtype if self.is_floating_point() else torch.get_default_dtype())


def i0(self):
    return _bessel(self, 0, False)


def renorm(self, p, dim, maxnorm):
    others = [d for d in _range(self.ndim) if d != dim % self.ndim]
    n = _norm(self, p, others, True)
    return _where(n > maxnorm, self * (maxnorm / (n + 1e-7)), self)


def new(self, *data, device=None):
    sizes = data[0] if len(data) == 1 and isinstance(data[0], torch.Size) else data
    if len(data) == 1 and isinstance(data[0], (list, tuple, torch.Tensor)) and sizes is data:
        return torch.tensor(data[0], dtype=self.dtype)
    return torch.empty(*sizes or [0], dtype=self.dtype)


def new_tensor(self, data, dtype=None, device=None, requires_grad=False):
    return torch.tensor(list(data) if isinstance(data, range) else data, dtype=dtype or self.dtype)


def allclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    return not not isclose(self, other, rtol, atol, equal_nan).all().item()


def equal(self, other):
    return self.shape == other.shape and not not (self == other).all().item()


def isclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    if self.dtype == torch.bool:
        self, other = self.long(), other.long()
    apart = (self - other).abs()
    close = (apart.isfinite() & (apart <= atol + rtol * other.abs())) | (self == other)
    return close | ((self != self) & (other != other)) if equal_nan else close


def positive(self):
    return self


def signbit(self):
    """Of -0.0, too."""
    return (_copysign(torch.ones_like(self), self) if self.is_floating_point() else self) < 0


def isposinf(self):
    return self == torch.inf


def isneginf(self):
    return self == -torch.inf


def is_complex(self):
    return False


_contiguous = op('contiguous')


def contiguous(self, memory_format=None):
    return self if computes() and self.is_contiguous() else _contiguous(self)


def to(self, *args, **kwargs):
    dtype, device = kwargs.get('dtype'), kwargs.get('device')
    for a in args:
        if isinstance(a, torch.dtype) or a is torch.complex64 or a is torch.complex128:
            dtype = a
        elif a is bool or a is int or a is float:
            dtype = torch.bool if a is bool else torch.int64 if a is int else torch.float64
        elif isinstance(a, torch.Tensor):
            dtype, device = a.dtype, a.device
        elif isinstance(a, (str, torch.device)):
            device = a
    if dtype is not None and dtype != self.dtype:
        self = _to(self, dtype)
    return self if device is None else move(self, str(device).startswith('cuda'))


_NAMES = {'float32': 'Float', 'float64': 'Double', 'float16': 'Half', 'bfloat16': 'BFloat16', 'bool': 'Bool',
          'uint8': 'Byte', 'int8': 'Char', 'int16': 'Short', 'int32': 'Int', 'int64': 'Long'}


def type(self, dtype=None, non_blocking=False):
    if dtype is None:
        name = str(self.dtype)[6:]
        return ('torch.cuda.' if on_cuda(self) else 'torch.') + _NAMES.get(name, name) + 'Tensor'
    if isinstance(dtype, str):
        if dtype.startswith('torch.cuda.'):
            self = move(self, True)
        dtype = getattr(torch, dtype.split('.')[-1])
    return to(self, dtype if isinstance(dtype, torch.dtype) else dtype(0).dtype)  # torch.LongTensor


def cuda(self, *args, **kwargs):
    return move(self, True)


def cpu(self):
    return move(self, False)


def pin_memory(self):
    return self


def new_zeros(self, *size, dtype=None, **placement):
    return torch.zeros(*size, dtype=dtype or self.dtype, **placement)


def new_ones(self, *size, dtype=None, **placement):
    return torch.ones(*size, dtype=dtype or self.dtype, **placement)


def new_empty(self, *size, dtype=None, **placement):
    return torch.empty(*size, dtype=dtype or self.dtype, **placement)


def new_full(self, size, fill_value, dtype=None, device=None):
    return torch.full(size, fill_value, dtype=dtype or self.dtype)


def _turned(f):
    """2 - x, by the name that Python asks for: x.__rsub__(2)."""
    def method(self, other):
        if not isinstance(other, (torch.Tensor, int, float, bool)):
            return NotImplemented
        return f(other, self)
    return method


(__radd__, __rsub__, __rmul__, __rdiv__, __rtruediv__, __rmod__, __rpow__, __rmatmul__, __rand__, __ror__, __rxor__,
 __rfloordiv__) = [_turned(op(name)) for name in (
    'add', 'sub', 'mul', 'div', 'div', 'remainder', 'pow', 'matmul', 'bitwise_and', 'bitwise_or', 'bitwise_xor', 'floor_divide')]


def zero_(self):
    return assign(self, torch.zeros_like(self))


def fill_(self, value):
    if isinstance(value, torch.Tensor):
        if value.dim():
            raise RuntimeError(f'fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions.')
        return assign(self, value.to(self.dtype).expand(self.shape))
    return assign(self, torch.full_like(self, value))


def copy_(self, src, non_blocking=False):
    return assign(self, src.expand(self.shape))


def _in_place(function):
    def method(self, *args, **kwargs):
        result = function(self, *args, **kwargs)
        if result.is_floating_point() and not self.is_floating_point():
            raise RuntimeError(f"result type {str(result.dtype)[6:]} can't be cast to the desired output type {str(self.dtype)[6:]}")
        return assign(self, result)
    return method


div_ = divide_ = _in_place(div)
round_, logit_, sgn_, rad2deg_, deg2rad_ = (_in_place(f) for f in (round, logit, sgn, rad2deg, deg2rad))
heaviside_, float_power_, renorm_, nextafter_ = (_in_place(f) for f in (heaviside, float_power, renorm, nextafter))
polygamma_ = _in_place(polygamma)
digamma_, i0_, lgamma_ = (_in_place(f) for f in (digamma, i0, lgamma))
sinc_, ldexp_, mvlgamma_, gcd_, lcm_ = (_in_place(f) for f in (sinc, ldexp, mvlgamma, gcd, lcm))
igamma_, igammac_ = (_in_place(f) for f in (igamma, igammac))
addmv_, addr_, addbmm_ = (_in_place(f) for f in (addmv, addr, addbmm))


def uniform_(self, a=0.0, b=1.0, generator=None):
    return assign(self, torch.rand_like(self, generator=generator) * (b - a) + a)


def normal_(self, mean=0.0, std=1.0, generator=None):
    return assign(self, torch.randn_like(self, generator=generator) * std + mean)


def exponential_(self, lambd=1.0, generator=None):
    return assign(self, -torch.log1p(-torch.rand_like(self, generator=generator)) / lambd)


def log_normal_(self, mean=1.0, std=2.0, generator=None):
    return assign(self, torch.exp(torch.randn_like(self, generator=generator) * std + mean))


def cauchy_(self, median=0.0, sigma=1.0, generator=None):
    return assign(self, median + sigma * torch.tan(math.pi * (torch.rand_like(self, generator=generator) - 0.5)))


def geometric_(self, p, generator=None):
    u = torch.rand(self.shape, generator=generator)
    return assign(self, (torch.log1p(-u) / math.log1p(-p)).ceil().clamp(min=1).to(self.dtype))


def random_(self, low=0, high=None, generator=None):
    low, high = (0, low) if high is None and low else (low, high)
    if high is None:
        high = 2 ** 24 if self.is_floating_point() else torch.iinfo(self.dtype).max
    return assign(self, torch.randint(low, _least(high, low + 2 ** 24), self.shape, generator=generator).to(self.dtype))


def bernoulli(self, p=None, generator=None):
    return (torch.rand_like(self, generator=generator) < (self if p is None else p)).to(self.dtype)


def bernoulli_(self, p=0.5, generator=None):
    return assign(self, torch.rand(self.shape, generator=generator) < p)


def _need_probabilities(p, num_samples, replacement):
    if not (p.isfinite() & (p >= 0)).all():
        raise RuntimeError('probability tensor contains either `inf`, `nan` or element < 0')
    if not (p.sum(-1) > 0).all():
        raise RuntimeError('invalid multinomial distribution (sum of probabilities <= 0)')
    if not replacement and num_samples > p.shape[-1]:
        raise RuntimeError('cannot sample n_sample > prob_dist.size(-1) samples without replacement')


def multinomial(self, num_samples, replacement=False, *, generator=None):
    """Without replacement, those first to come when each arrives at its rate."""
    if self.ndim not in (1, 2):
        raise RuntimeError('prob_dist must be 1 or 2 dim')
    p = self.detach().to(torch.float64)
    if computes():
        _need_probabilities(p, num_samples, replacement)
    if num_samples == 1 or not replacement:
        sooner = p / -torch.log1p(-torch.rand(p.shape, dtype=torch.float64, generator=generator))
        return sooner.argmax(-1, keepdim=True) if num_samples == 1 else sooner.topk(num_samples)[1]
    below = p.cumsum(-1)
    u = torch.rand(list(p.shape[:-1]) + [num_samples], dtype=torch.float64, generator=generator) * below[..., -1:]
    return (below.unsqueeze(-2) <= u.unsqueeze(-1)).sum(-1)


def item(self):
    return _item(self)


def tolist(self):
    return _tolist(self)


def numpy(self, *, force=False):
    """An array of the same memory."""
    if self.requires_grad and not force:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if not computes() and not is_known(self):
        graph_break('call of Tensor.numpy()', 'use torch functions')
    from numpy import ndarray
    return ndarray(self.detach())


def nonzero(self, *, as_tuple=False):
    self = self != 0 if self.is_complex() else self
    if computes():
        if not self.ndim:
            found = _nonzero(self.reshape(1), 0)
            return (found,) if as_tuple else torch.zeros(found.size(0), 0, dtype=torch.int64)
        places = [_nonzero(self, d) for d in _range(self.ndim)]
        return tuple(places) if as_tuple else torch.stack(places, 1)
    if is_known(self) and self.ndim:
        found = [[i] for i, v in enumerate(self.detach().flatten().tolist()) if v]
        for n in list(self.shape)[:0:-1]:
            found = [[i // n, i % n, *rest] for i, *rest in found]
        found = torch.tensor(found, dtype=torch.int64).reshape(len(found), self.ndim)
        return tuple(found.unbind(1)) if as_tuple else found
    if not self.ndim:
        graph_break('shape of Tensor.nonzero()', 'torch.where(condition, a, b) keeps the shape')
    mask = self if self.dtype == torch.bool else self != 0
    places = [_places(mask, d) for d in _range(self.ndim)]
    return tuple(places) if as_tuple else torch.stack(places, 1)


def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    torch.autograd.backward([self], [gradient], retain_graph, create_graph, inputs=inputs)


device = property(lambda self: torch.device('cuda', 0) if on_cuda(self) else torch._device)
layout = property(lambda self: torch.strided)
is_cuda, is_cpu = property(on_cuda), property(lambda self: not on_cuda(self))
real, H, mH = property(lambda self: self), property(lambda self: self.T), property(adjoint)
grad = property(get_grad)


class Node:
    """What .grad_fn says of how a tensor was computed."""

    def __init__(self, name):
        self._name = name

    def name(self):
        return self._name

    def __repr__(self):
        return f'<{self._name} object at {hex(id(self))}>'


grad_fn = property(lambda self: None if _grad_name(self) is None else Node(_grad_name(self)))
data = property(lambda self: self.detach())


class RemovableHandle:
    """Of a hook in a dict of hooks, which are called in the order of their numbers."""

    def __init__(self, hooks, hook):
        self.hooks, self.id = hooks, len(hooks)
        while self.id in hooks:
            self.id += 1
        hooks[self.id] = hook

    def remove(self):
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def inverse(self):
    return torch.linalg.inv(self)


def det(self):
    return torch.linalg.det(self)


def cholesky(self, upper=False):
    return torch.linalg.cholesky(self, upper=upper)


def cholesky_solve(self, L, upper=False):
    lower = L.mH if upper else L
    return torch.linalg.solve(lower @ lower.mH, self)


def cholesky_inverse(self, upper=False):
    lower = (self.triu().mH if upper else self.tril())
    return torch.linalg.inv(lower @ lower.mH)


def pinverse(self, rcond=1e-15):
    return torch.linalg.pinv(self, rcond)


def svd(self, some=True, compute_uv=True):
    import torch._spectral
    return torch._spectral.svd_of_torch(self, some, compute_uv)


def triangular_solve(self, A, upper=True, transpose=False, unitriangular=False):
    a = A.mT if transpose else A
    solved = torch.linalg.solve_triangular(a, self, upper=upper != transpose, unitriangular=unitriangular)
    return torch.linalg._Triangular(solved, A.expand(*solved.shape[:-2], *A.shape[-2:]).clone())


def qr(self, some=True):
    return torch.linalg.qr(self, 'reduced' if some else 'complete')


def stft(self, *args, **kwargs):
    return torch.stft(self, *args, **kwargs)


def matrix_exp(self):
    return torch.matrix_exp(self)


def lu(self, pivot=True, get_infos=False):
    return torch.lu(self, pivot, get_infos)


def lu_solve(self, LU_data, LU_pivots):
    return torch.lu_solve(self, LU_data, LU_pivots)


def geqrf(self):
    return torch.geqrf(self)


def orgqr(self, input2):
    return torch.orgqr(self, input2)


def ormqr(self, input2, input3, left=True, transpose=False):
    return torch.ormqr(self, input2, input3, left, transpose)


def logdet(self):
    return torch.linalg.det(self).log()


def slogdet(self):
    return torch.linalg.slogdet(self)


def storage_offset(self):
    return _storage_offset(self)


def data_ptr(self):
    return _data_ptr(self)


def retain_grad(self):
    _retain_grad(self)


def register_hook(self, hook):
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return RemovableHandle(_hooks(self), hook)


def register_post_accumulate_grad_hook(self, hook):
    return RemovableHandle(_grad_hooks(self), hook)


def to_sparse(self, *args, **kwargs):
    """Sparse tensors are dense ones: the same numbers, with zeros in memory."""
    return self


to_dense = to_sparse_csr = to_sparse_coo = to_sparse


def coalesce(self):
    import torch.sparse
    return torch.sparse.coalesced(self)


def _elements(self):
    """As a sparse tensor was given them, if they are known: what PyTorch keeps before coalesce()."""
    import torch.sparse
    found = torch.sparse.elements(self)
    return found[:2] if found and found[2] else (indices(self), values(self))


def indices(self):
    """Where a sparse tensor has elements, in memory's order, as coalesce() leaves them: where they are no zeros."""
    return self.nonzero().t()


def values(self):
    return self[tuple(self.nonzero().unbind(1))]


def _indices(self):
    return _elements(self)[0]


def _values(self):
    return _elements(self)[1]


def crow_indices(self):
    """Before each row, how many elements there are in rows above, and how many there are in all."""
    return torch.cat([torch.zeros(1, dtype=torch.int64), (self != 0).sum(1).cumsum(0)])


def col_indices(self):
    return indices(self)[1]


def _nnz(self):
    return _indices(self).size(1)


def is_coalesced(self):
    return True


sparse_dim, dense_dim = lambda self: self.ndim, lambda self: 0


# -- operators by their methods' names, as graphs call them

from operator import (add as __add__, sub as __sub__, mul as __mul__, truediv as __truediv__, floordiv as __floordiv__, mod as __mod__,
                      pow as __pow__, matmul as __matmul__, neg as __neg__, getitem as __getitem__, and_ as __and__, or_ as __or__,
                      eq as __eq__, ne as __ne__, lt as __lt__, le as __le__, gt as __gt__, ge as __ge__)

__radd__, __rsub__, __rmul__ = (lambda self, other: other + self), (lambda self, other: other - self), (lambda self, other: other * self)
__rtruediv__, __rpow__ = (lambda self, other: other / self), (lambda self, other: other ** self)
__xor__, __invert__ = (lambda self, other: self ^ other), (lambda self: ~self)
