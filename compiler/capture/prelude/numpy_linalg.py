"""numpy.linalg: torch.linalg's functions of arrays, which count in f64."""
import torch
from numpy import ndarray, _alike, _floats, _out, _t


class LinAlgError(ValueError):
    pass


def _of_arrays(function):
    def run(*args, **kwargs):
        args = [_floats(_t(a)) if isinstance(a, (ndarray, list, tuple, torch.Tensor)) else a for a in args]
        found = function(*args, **kwargs)
        return _out(found) if isinstance(found, torch.Tensor) else tuple([_out(part) for part in found])
    return run


inv, det, slogdet = _of_arrays(torch.linalg.inv), _of_arrays(torch.linalg.det), _of_arrays(torch.linalg.slogdet)
solve, pinv, qr = _of_arrays(torch.linalg.solve), _of_arrays(torch.linalg.pinv), _of_arrays(torch.linalg.qr)
eigh, eigvalsh, cholesky = _of_arrays(torch.linalg.eigh), _of_arrays(torch.linalg.eigvalsh), _of_arrays(torch.linalg.cholesky)
matrix_power, matrix_rank = _of_arrays(torch.linalg.matrix_power), _of_arrays(torch.linalg.matrix_rank)
cond = _of_arrays(torch.linalg.cond)


def multi_dot(arrays):
    return _out(torch.linalg.multi_dot(_alike([_t(a) for a in arrays])))


def svd(a, full_matrices=True, compute_uv=True):
    a = _floats(_t(a))
    if not compute_uv:
        return _out(torch.linalg.svdvals(a))
    return tuple([_out(part) for part in torch.linalg.svd(a, full_matrices=full_matrices)])


def norm(x, ord=None, axis=None, keepdims=False):
    return _out(torch.linalg.norm(_floats(_t(x)), ord, axis, keepdims))
