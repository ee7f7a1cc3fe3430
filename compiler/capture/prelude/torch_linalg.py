"""torch.linalg: norms, and what is made of products. Decompositions are not there."""
import torch
from torch._tensor import cross, inner, matrix_power
from _warpsmith import op, refuse
_vector_norm, diagonal = op('norm'), op('diagonal')


def vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    return _vector_norm(x if dtype is None else x.to(dtype), ord, dim, keepdim)


def matrix_norm(A, ord='fro', dim=(-2, -1), keepdim=False, dtype=None):
    a, b = dim
    x = A if dtype is None else A.to(dtype)
    if ord == 'fro':
        return _vector_norm(x, 2, [a, b], keepdim)
    if ord in (1, -1, torch.inf, -torch.inf):
        summed, other = (a, b) if ord in (1, -1) else (b, a)
        sums = x.abs().sum(summed, True)
        most = sums.amax([a, b], True) if ord > 0 else sums.amin([a, b], True)
        return most if keepdim else most.sum([a, b])
    refuse(f'torch.linalg.matrix_norm of order {ord} is not supported')


def norm(A, ord=None, dim=None, keepdim=False, dtype=None):
    if dim is None and ord is not None:
        dim = (-2, -1) if A.ndim == 2 else None
    if isinstance(dim, (list, tuple)) and len(dim) == 2 and ord is not None:
        return matrix_norm(A, ord, dim, keepdim, dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype)


def vecdot(x, y, dim=-1):
    return (x * y).sum(dim)


def multi_dot(tensors):
    out = tensors[0]
    for x in tensors[1:]:
        out = out @ x
    return out


def matmul(input, other):
    return input @ other
