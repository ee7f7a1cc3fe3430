"""Functions of numpy that programs call seldom: numpy looks here for a name that it has not itself.

    np.append(1.0, np.cumprod(a))[:-1]      the products of what stands before each element
"""
import math
import torch
import numpy as np
from numpy import (ndarray, _alike, _binary, _floats, _is_number, _of, _out, _t, _tensors, arange, array,
                   concatenate)


def append(arr, values, axis=None):
    if axis is None:
        return concatenate([np.ravel(arr), np.ravel(values)])
    return concatenate([arr, values], axis)


def _rest(n, obj):
    """The places of n that obj, a number, a list or a slice, leaves."""
    places = list(range(n))
    taken = places[obj] if isinstance(obj, slice) else np.ravel(obj).tolist()
    if taken and isinstance(taken[0], bool):
        return [i for i in places if not taken[i]]
    gone = {i + n if i < 0 else i for i in taken}
    return [i for i in places if i not in gone]


def delete(arr, obj, axis=None):
    t, axis = (_t(arr).reshape(-1), 0) if axis is None else (_t(arr), axis)
    return ndarray(t.index_select(axis, torch.tensor(_rest(t.shape[axis], obj), dtype=torch.int64)))


def insert(arr, obj, values, axis=None):
    t, axis = (_t(arr).reshape(-1), 0) if axis is None else (_t(arr), axis)
    at = obj + t.shape[axis] if obj < 0 else obj
    v = _t(values).to(t.dtype)
    if t.ndim > 1 and v.ndim < t.ndim:
        v = v.expand([1 if d == axis % t.ndim else n for d, n in enumerate(t.shape)])
    v = v.reshape(-1) if t.ndim == 1 else v
    return ndarray(torch.cat([t.narrow(axis, 0, at), v, t.narrow(axis, at, t.shape[axis] - at)], axis))


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = _floats(_t(y))
    return _out(torch.trapezoid(y, dx=dx, dim=axis) if x is None else torch.trapezoid(y, _floats(_t(x)), dim=axis))


trapz = trapezoid


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, suppress=None, formatter=None, **others):
    pass  # arrays print as they do from the start


# -- element by element

def _each(function):
    return lambda x: _out(function(_floats(_t(x))))


cbrt, reciprocal, sinc = _each(lambda t: torch.sign(t) * torch.abs(t) ** (1 / 3)), _each(torch.reciprocal), _each(torch.sinc)
exp2, rint, trunc, fix = _each(torch.exp2), _each(torch.round), _each(torch.trunc), _each(torch.trunc)
arcsinh, arccosh, arctanh = _each(torch.asinh), _each(torch.acosh), _each(torch.atanh)
rad2deg = degrees = _each(torch.rad2deg)
negative = lambda x: 0 - x if _is_number(x) else _out(-_t(x))


def _of_floats(function):
    return _binary(lambda a, b: function(*_both_floats(a, b)))


def _both_floats(a, b):
    a, b = _alike([a if isinstance(a, torch.Tensor) else _t(a), b if isinstance(b, torch.Tensor) else _t(b)])
    return _floats(a), _floats(b)


hypot, copysign = _of_floats(torch.hypot), _of_floats(torch.copysign)
fmax, fmin = _binary(_tensors(torch.fmax)), _binary(_tensors(torch.fmin))
logaddexp, heaviside, fmod = _of_floats(torch.logaddexp), _of_floats(torch.heaviside), _of_floats(torch.fmod)
floor_divide = _binary(lambda a, b: a // b)
greater_equal, less_equal = _binary(lambda a, b: a >= b), _binary(lambda a, b: a <= b)
logical_xor = lambda a, b: np.not_equal(np.not_equal(a, 0), np.not_equal(b, 0))
bitwise_and, bitwise_or, bitwise_xor = _binary(lambda a, b: a & b), _binary(lambda a, b: a | b), _binary(lambda a, b: a ^ b)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    return _out(torch.nan_to_num(_t(x), nan=nan, posinf=posinf, neginf=neginf))


def isin(element, test_elements):
    return _out(torch.isin(_t(element), _t(test_elements)))


in1d = isin


# -- what has holes


def _without(fill, function):
    def run(a, axis=None, keepdims=False):
        t = _floats(_t(a))
        return function(np.where(ndarray(torch.isnan(t)), fill, ndarray(t)), axis=axis, keepdims=keepdims)
    return run


nansum, nanmax, nanmin = _without(0.0, np.sum), _without(-math.inf, np.max), _without(math.inf, np.min)


def nanmean(a, axis=None, keepdims=False):
    return np.divide(nansum(a, axis, keepdims), np.sum(~np.isnan(array(a)), axis=axis, keepdims=keepdims))


# -- products


def inner(a, b):
    return np.dot(a, b) if np.ndim(b) < 2 else np.matmul(a, ndarray(_t(b).transpose(-1, -2)))


def vdot(a, b):
    return np.dot(np.ravel(a), np.ravel(b))


def tensordot(a, b, axes=2):
    a, b = _alike([_t(a), _t(b)])
    if not isinstance(axes, int):
        axes = [[d] if isinstance(d, int) else list(d) for d in axes]
    return _out(torch.tensordot(a, b, dims=axes))


def kron(a, b):
    return _out(torch.kron(*_alike([_t(a), _t(b)])))


def cross(a, b, axis=-1):
    return _out(torch.linalg.cross(*_alike([_t(a), _t(b)]), dim=axis))


def trace(a):
    return _out(torch.trace(_t(a)))


def diagonal(a, offset=0, axis1=0, axis2=1):
    return ndarray(torch.diagonal(_t(a), offset, axis1, axis2))


def convolve(a, v, mode='full'):
    a, v = _alike([_t(a), _t(v)])
    n, k = len(a), len(v)
    full = torch.nn.functional.conv1d(_floats(a)[None, None], _floats(v).flip(0)[None, None], padding=k - 1)[0, 0].to(a.dtype)
    if mode == 'full':
        return ndarray(full)
    size, short = (max(n, k), min(n, k)) if mode == 'same' else (max(n, k) - min(n, k) + 1, min(n, k))
    start = (short - 1) // 2 if mode == 'same' else short - 1
    return ndarray(full[start:start + size])


def correlate(a, v, mode='valid'):
    return convolve(a, np.flip(v), mode)


def cov(m, rowvar=True, bias=False, ddof=None):
    t = _floats(_t(m))
    return _out(torch.cov(t if rowvar or t.ndim < 2 else t.T, correction=(0 if bias else 1) if ddof is None else ddof))


def corrcoef(x, rowvar=True):
    t = _floats(_t(x))
    return _out(torch.corrcoef(t if rowvar or t.ndim < 2 else t.T))


# -- order


def searchsorted(a, v, side='left'):
    return _out(torch.searchsorted(*[t.contiguous() for t in _both_floats(_t(a), _t(v))], right=side == 'right'))


def digitize(x, bins, right=False):
    return searchsorted(bins, x, 'left' if right else 'right')


def interp(x, xp, fp):
    x, xp, fp = [_t(v).double() for v in (x, xp, fp)]
    last = len(xp) - 1
    i = torch.searchsorted(xp, x.contiguous(), right=True).clamp(1, last) - 1
    part = ((x - xp[i]) / (xp[i + 1] - xp[i])).clamp(0, 1)
    return _out(fp[i] + part * (fp[i + 1] - fp[i]))


def histogram(a, bins=10, range=None, density=False):
    t = _t(a).double().reshape(-1)
    if not isinstance(bins, int):
        edges = _t(bins).double()
    else:
        low, high = range or (t.min().item(), t.max().item())
        edges = np.linspace(low, high if high > low else low + 1, bins + 1)._t
    counts = torch.stack([((t >= a) & ((t < b) | ((t == b) & (b == edges[-1])))).sum() for a, b in zip(edges[:-1], edges[1:])])
    return ndarray(counts / counts.sum() / torch.diff(edges) if density else counts), ndarray(edges)


def quantile(a, q, axis=None, keepdims=False):
    return np.percentile(a, np.multiply(q, 100), axis)


def take(a, indices, axis=None):
    t, i = _t(a), _t(indices)
    return _out(t.reshape(-1)[i] if axis is None else t[(slice(None),) * (axis % t.ndim) + (i,)])


def take_along_axis(arr, indices, axis=-1):
    return ndarray(torch.take_along_dim(_t(arr), _t(indices), axis))


# -- shapes


def atleast_1d(a):
    return ndarray(torch.atleast_1d(_t(a)))


def atleast_2d(a):
    return ndarray(torch.atleast_2d(_t(a)))


def isscalar(x):
    return _is_number(x) or isinstance(x, str)


def column_stack(tup):
    return ndarray(torch.column_stack(_alike([_t(t) for t in tup])))


def dstack(tup):
    return ndarray(torch.dstack(_alike([_t(t) for t in tup])))


def hsplit(a, parts):
    return np.split(a, parts, 0 if np.ndim(a) == 1 else 1)


def vsplit(a, parts):
    return np.split(a, parts, 0)


def fliplr(a):
    return np.flip(a, 1)


def flipud(a):
    return np.flip(a, 0)


def rot90(m, k=1, axes=(0, 1)):
    return ndarray(torch.rot90(_t(m), k, axes))


def rollaxis(a, axis, start=0):
    return np.moveaxis(a, axis, start - 1 if axis < start else start)


def broadcast_arrays(*args):
    return tuple([ndarray(t) for t in torch.broadcast_tensors(*[_t(a) for a in args])])


def ix_(*args):
    n = len(args)
    return tuple([ndarray(_t(a).reshape([-1 if k == i else 1 for k in range(n)])) for i, a in enumerate(args)])


def indices(dimensions):
    return np.stack(np.meshgrid(*[arange(n) for n in dimensions], indexing='ij'))


def tril_indices(n, k=0, m=None):
    return tuple([ndarray(t) for t in torch.tril_indices(n, m or n, k)])


def triu_indices(n, k=0, m=None):
    return tuple([ndarray(t) for t in torch.triu_indices(n, m or n, k)])


def diag_indices(n, ndim=2):
    return (arange(n),) * ndim


def tri(N, M=None, k=0, dtype=None):
    return ndarray(torch.tril(torch.ones(N, M or N, dtype=_of(dtype) or torch.float64), k))


def vander(x, N=None, increasing=False):
    t = torch.vander(_t(x), N, increasing)
    return ndarray(t)


def unravel_index(indices, shape):
    found, rest = [], indices if _is_number(indices) else array(indices)
    for n in shape[::-1]:
        found, rest = [rest % n] + found, rest // n
    return tuple(found)


def ndindex(*shape):
    found = [()]
    for n in shape[0] if shape and isinstance(shape[0], tuple) else shape:
        found = [at + (i,) for at in found for i in range(n)]
    return found


def ndenumerate(arr):
    return [(at, arr[at]) for at in ndindex(np.shape(arr))]


def pad(array, pad_width, mode='constant', constant_values=0):
    t = _t(array)
    width = _t(pad_width).expand(t.ndim, 2).tolist()
    for d, (before, after) in enumerate(width):
        n = t.shape[d]
        if mode == 'constant':
            ends = [t.new_full([k if e == d else m for e, m in enumerate(t.shape)], constant_values) for k in (before, after)]
            t = torch.cat([ends[0], t, ends[1]], d)
            continue
        at = torch.arange(-before, n + after)
        if mode == 'edge':
            at = at.clamp(0, n - 1)
        elif mode == 'wrap':
            at = at % n
        elif mode == 'reflect':
            at = (at.abs() - (n - 1)).abs().neg() + n - 1
        elif mode == 'symmetric':
            at = torch.where(at < 0, -1 - at, at)
            at = torch.where(at >= n, 2 * n - 1 - at, at)
        else:
            from _warpsmith import refuse
            refuse(f"numpy.pad of mode '{mode}' is not supported")
        t = t.index_select(d, at)
    return ndarray(t)


def gradient(f, spacing=1.0, axis=None):
    t = _floats(_t(f))
    parts = torch.gradient(t, spacing=float(spacing), dim=axis)
    return ndarray(parts[0]) if len(parts) == 1 else [ndarray(p) for p in parts]


def geomspace(start, stop, num=50):
    return np.exp(np.linspace(math.log(start), math.log(stop), num))


def _window(function):
    return lambda M: ndarray(function(M, periodic=False, dtype=torch.float64))


class errstate:
    """Nothing here warns of what an operation came to."""

    def __init__(self, **kwargs):
        pass

    def __enter__(self):
        pass

    def __exit__(self, kind, error, traceback):
        return False


hanning, hamming = _window(torch.hann_window), _window(torch.hamming_window)
blackman, bartlett = _window(torch.blackman_window), _window(torch.bartlett_window)


def vectorize(pyfunc, **kwargs):
    def run(*args):
        args = torch.broadcast_tensors(*[_t(a) for a in args])
        found = [pyfunc(*row) for row in zip(*[a.reshape(-1).tolist() for a in args])]
        return _out(_t(found).reshape(args[0].shape))
    return run


def apply_along_axis(func1d, axis, arr):
    t = _t(arr).movedim(axis, -1)
    found = [func1d(ndarray(row)) for row in t.reshape(-1, t.shape[-1])]
    t = np.stack(found)._t if isinstance(found[0], ndarray) else _t(found)
    return ndarray(t.reshape(_t(arr).movedim(axis, -1).shape[:-1] + t.shape[1:]).movedim(-1, axis) if t.ndim > 1
                   else t.reshape(_t(arr).movedim(axis, -1).shape[:-1]))
