"""Functions of torch that are methods of Tensor, too: Tensor gets every name without underscore."""

import torch
from _warpsmith import op, refuse, graph_break, assign
_range, _reversed = range, reversed
_squeeze, _var, _std, _max, _min, _norm = op('squeeze'), op('var'), op('std'), op('max'), op('min'), op('norm')
_softmax, _log_softmax, _to, _slice, _select = op('softmax'), op('log_softmax'), op('to'), op('slice'), op('select')
_matmul = op('matmul')


def squeeze(self, dim=None):
    if dim is not None:
        return _squeeze(self, dim)
    for d in _reversed(_range(self.ndim)):
        if self.shape[d] == 1:
            self = _squeeze(self, d)
    return self


def softmax(self, dim, dtype=None):
    return _softmax(self, dim, dtype)


def log_softmax(self, dim, dtype=None):
    return _log_softmax(self, dim, dtype)


def unbind(self, dim=0):
    return tuple([_select(self, dim, i) for i in _range(self.size(dim))])


def split(self, split_size, dim=0):
    n = self.size(dim)
    if isinstance(split_size, int):
        if split_size < 1:
            raise ValueError('split size must be positive')
        sizes = [split_size] * (n // split_size) + ([n % split_size] if n % split_size else [])
    else:
        sizes = list(split_size)
        if sum(sizes) != n:
            raise RuntimeError(f'split sizes {sizes} do not sum to {n}, the size of dimension {dim}')
    parts, start = [], 0
    for size in sizes:
        parts.append(_slice(self, dim, start, start + size))
        start += size
    return tuple(parts)


def chunk(self, chunks, dim=0):
    return split(self, -(-self.size(dim) // chunks), dim)


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


def norm(self, p='fro', dim=None, keepdim=False):
    return _norm(self, 2 if p == 'fro' or p is None else p, dim, keepdim)


def _extreme(name, all, pair, self, dim):
    if dim is None:
        return all(self)
    if isinstance(dim, torch.Tensor):
        return pair(self, dim)
    refuse(f'torch.{name} over a dimension returns indices, which is not supported; torch.a{name} gives the values')


def max(self, dim=None, keepdim=False):
    return _extreme('max', _max, torch.maximum, self, dim)


def min(self, dim=None, keepdim=False):
    return _extreme('min', _min, torch.minimum, self, dim)


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


def outer(self, vec2):
    _need_rank('outer', self, 1)
    _need_rank('outer', vec2, 1)
    return self.unsqueeze(1) * vec2


def _plus_product(self, product, beta, alpha):
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (self if beta == 1 else self * beta)


def addmv(self, mat, vec, beta=1, alpha=1):
    return _plus_product(self, mv(mat, vec), beta, alpha)


def addr(self, vec1, vec2, beta=1, alpha=1):
    return _plus_product(self, outer(vec1, vec2), beta, alpha)


def addbmm(self, batch1, batch2, beta=1, alpha=1):
    return _plus_product(self, torch.bmm(batch1, batch2).sum(0), beta, alpha)


def count_nonzero(self, dim=None):
    return (self != 0).sum(dim)


def to(self, *args, **kwargs):
    dtype = kwargs.get('dtype')
    for a in args:
        if isinstance(a, torch.dtype):
            dtype = a
        elif isinstance(a, torch.Tensor):
            dtype = a.dtype
    return self if dtype is None or dtype == self.dtype else _to(self, dtype)


def type(self, dtype):
    return to(self, dtype)


def cuda(self, *args, **kwargs):
    return self


def cpu(self):
    return self


def pin_memory(self):
    return self


def new_zeros(self, *size, dtype=None, device=None):
    return torch.zeros(*size, dtype=dtype or self.dtype)


def new_ones(self, *size, dtype=None, device=None):
    return torch.ones(*size, dtype=dtype or self.dtype)


def new_empty(self, *size, dtype=None, device=None):
    return torch.empty(*size, dtype=dtype or self.dtype)


def new_full(self, size, fill_value, dtype=None, device=None):
    return torch.full(size, fill_value, dtype=dtype or self.dtype)


def zero_(self):
    return assign(self, torch.zeros_like(self))


def fill_(self, value):
    return assign(self, torch.full_like(self, value))


def copy_(self, src, non_blocking=False):
    return assign(self, src.expand(self.shape))


def uniform_(self, a=0.0, b=1.0, generator=None):
    return assign(self, torch.rand_like(self) * (b - a) + a)


def normal_(self, mean=0.0, std=1.0, generator=None):
    return assign(self, torch.randn_like(self) * std + mean)


def bernoulli(self, p=None, generator=None):
    return (torch.rand_like(self) < (self if p is None else p)).to(self.dtype)


def bernoulli_(self, p=0.5, generator=None):
    return assign(self, torch.rand(self.shape) < p)


def item(self):
    graph_break('call of Tensor.item()', 'keep the value in a tensor')


def tolist(self):
    graph_break('call of Tensor.tolist()', 'keep the values in a tensor')


def numpy(self, *args, **kwargs):
    graph_break('call of Tensor.numpy()', 'use torch functions')


def nonzero(self, *args, **kwargs):
    graph_break('shape of Tensor.nonzero()', 'torch.where(condition, a, b) keeps the shape')


def backward(self, *args, **kwargs):
    refuse('Tensor.backward() is not supported in a workload; a workload is a forward function')


device = property(lambda self: torch._device)


def register_hook(self, hook):
    refuse('hooks are not supported')
