"""torch.masked: reductions and the like of the elements that a mask keeps; the others count as what changes nothing."""
import torch


def _kept(input, mask, none):
    return input if mask is None else torch.where(mask, input, none)


def _dims(input, dim):
    return list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)


def _cast(input, dtype):
    return input if dtype is None else input.to(dtype)


def _lowest(dtype):
    return -torch.inf if dtype.is_floating_point else False if dtype == torch.bool else torch.iinfo(dtype).min


def _highest(dtype):
    return torch.inf if dtype.is_floating_point else True if dtype == torch.bool else torch.iinfo(dtype).max


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    return _kept(_cast(input, dtype), mask, 0).sum(_dims(input, dim), keepdim)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    out = _kept(_cast(input, dtype), mask, 1)
    out = out if out.is_floating_point() or out.is_complex() else out.to(dtype or torch.int64)
    for d in sorted([d % input.ndim for d in _dims(input, dim)], reverse=True) if input.ndim else []:
        out = out.prod(d, keepdim)
    return out


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    x = _cast(input, dtype)
    return _kept(x, mask, _lowest(x.dtype)).amax(_dims(input, dim), keepdim)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    x = _cast(input, dtype)
    return _kept(x, mask, _highest(x.dtype)).amin(_dims(input, dim), keepdim)


# What PyTorch returns of these two are no integers: indices have the type of the input.
def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    x = _cast(input, dtype)
    return _kept(x, mask, _lowest(x.dtype)).argmax(dim, keepdim).to(x.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    x = _cast(input, dtype)
    return _kept(x, mask, _highest(x.dtype)).argmin(dim, keepdim).to(x.dtype)


def _count(input, dim, keepdim, mask):
    one = torch.ones(input.shape, dtype=torch.int64, device=input.device)
    return _kept(one, mask, 0).sum(_dims(input, dim), keepdim)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Nan where nothing is kept."""
    x = _cast(input, dtype)
    if not (x.is_floating_point() or x.is_complex()):
        raise ValueError(f'mean expects a floating-point dtype, got {x.dtype}')
    return sum(x, dim, keepdim=keepdim, mask=mask) / _count(x, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    x = _cast(input, dtype)
    if mask is None:
        return x.median(dim, keepdim).values
    if not x.is_floating_point():
        raise TypeError(f'median with a mask expects a floating-point dtype, got {x.dtype}')
    return _kept(x, mask, torch.nan).nanmedian(dim, keepdim).values


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    x = _cast(input, dtype)
    x = x if x.is_floating_point() else x.float()
    correction = (0 if unbiased is False else 1) if correction is None else correction
    apart = x - mean(x, dim, keepdim=True, mask=mask)
    left = _count(x, dim, keepdim, mask) - correction
    return (sum(apart * apart, dim, keepdim=keepdim, mask=mask) / left.clamp(min=0)).to(x.dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    none = torch.inf if ord == -torch.inf else 0
    return torch.linalg.vector_norm(_kept(_cast(input, dtype), mask, none), ord, _dims(input, dim), keepdim)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    x = _cast(input, dtype)
    return _kept(x, mask, 0) / norm(x, ord, dim, keepdim=True, mask=mask).clamp(min=eps)


def cumsum(input, dim, *, dtype=None, mask=None):
    x = _kept(_cast(input, dtype), mask, 0)
    return x.cumsum(dim) if x.is_complex() else x.cumsum(dim, dtype=x.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    x = _kept(_cast(input, dtype), mask, 1)
    return x.cumprod(dim) if x.is_complex() else x.cumprod(dim, dtype=x.dtype)


def softmax(input, dim, *, dtype=None, mask=None):
    return _kept(_cast(input, dtype), mask, -torch.inf).softmax(dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    return _kept(_cast(input, dtype), mask, -torch.inf).log_softmax(dim)


def softmin(input, dim, *, dtype=None, mask=None):
    return (-_kept(_cast(input, dtype), mask, torch.inf)).softmax(dim)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    x = _cast(input, dtype)
    x = x if mask is None or x.is_floating_point() else x.float()
    return _kept(x, mask, -torch.inf).logsumexp(_dims(input, dim), keepdim).to(dtype or input.dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    a, b = _kept(_cast(input, dtype), input_mask, -torch.inf), _kept(_cast(other, dtype), other_mask, -torch.inf)
    return torch.logaddexp(a, b)
