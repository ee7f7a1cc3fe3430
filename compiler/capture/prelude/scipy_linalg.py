"""scipy.linalg: what numpy.linalg has, and some matrices by name."""
import numpy
import torch
from numpy import _floats, _out, _t
from numpy.linalg import LinAlgError, inv, det, solve, pinv, qr, eigh, eigvalsh, svd, norm


def lu(a, permute_l=False):
    p, l, u = torch.linalg.lu(_floats(_t(a)))
    return (_out(p @ l), _out(u)) if permute_l else (_out(p), _out(l), _out(u))


def cholesky(a, lower=False):
    l = torch.linalg.cholesky(_floats(_t(a)))
    return _out(l if lower else l.mT)


def expm(a):
    return _out(torch.linalg.matrix_exp(_floats(_t(a))))


def block_diag(*arrs):
    return _out(torch.block_diag(*[torch.atleast_2d(_t(a)) for a in arrs]))


def toeplitz(c, r=None):
    c = _t(c).reshape(-1)
    r = c if r is None else _t(r).reshape(-1)
    values = torch.cat([c.flip(0), r[1:]])
    rows, columns = torch.arange(len(c)).unsqueeze(1), torch.arange(len(r))
    return _out(values[len(c) - 1 - rows + columns])


def hadamard(n, dtype=int):
    if n < 1 or n & (n - 1):
        raise ValueError('n must be an positive integer, and n must be a power of 2')
    h = torch.ones(1, 1, dtype=torch.int64)
    while len(h) < n:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)])
    return numpy.array(_out(h), dtype=dtype)
