"""torch.fft: transforms as products with the matrices of their roots, each of n * n numbers: right, not fast."""
import math

import torch
from _warpsmith import refuse
from torch._complex import Complex


def _parts(x):
    return (x.real, x.imag) if isinstance(x, Complex) else (x, None)


def _sized(x, n, dim):
    """x with n elements along dim: cut off, or zeros behind."""
    if n is None or n == x.shape[dim]:
        return x
    if n < x.shape[dim]:
        return x.narrow(dim, 0, n)
    more = list(x.shape)
    more[dim] = n - x.shape[dim]
    return torch.cat([x, x.new_zeros(more)], dim)


def _scale(n, norm, inverse):
    if norm not in (None, 'backward', 'forward', 'ortho'):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == 'ortho':
        return 1 / math.sqrt(n)
    return 1 / n if (norm == 'forward') != inverse else 1.0


def _roots(n, m, like, sign):
    """cos and sin of 2 pi j k / n, for j below n and k below m. j * k is reduced by n first, to keep the angle exact."""
    turns = (torch.arange(n).unsqueeze(1) * torch.arange(m)) % n
    angle = turns.to(like.dtype) * (sign * 2 * math.pi / n)
    return angle.cos(), angle.sin()


def _along(x, matrix, dim):
    return (x.movedim(dim, -1) @ matrix).movedim(-1, dim)


def _transform(x, n, dim, norm, sign, kept=None):
    """The first `kept` of the n elements of the transform along dim."""
    real, imag = _parts(x)
    real = real if real.is_floating_point() else real.float()
    real, imag = _sized(real, n, dim), None if imag is None else _sized(imag, n, dim)
    n = real.shape[dim]
    cos, sin = [part * _scale(n, norm, sign > 0) for part in _roots(n, kept or n, real, sign)]
    if imag is None:
        return Complex(_along(real, cos, dim), _along(real, sin, dim))
    return Complex(_along(real, cos, dim) - _along(imag, sin, dim), _along(real, sin, dim) + _along(imag, cos, dim))


def fft(input, n=None, dim=-1, norm=None):
    return _transform(input, n, dim, norm, -1)


def ifft(input, n=None, dim=-1, norm=None):
    return _transform(input, n, dim, norm, 1)


def rfft(input, n=None, dim=-1, norm=None):
    if isinstance(input, Complex):
        raise RuntimeError('rfft expects a real input tensor')
    return _transform(input, n, dim, norm, -1, (n or input.shape[dim]) // 2 + 1)


def irfft(input, n=None, dim=-1, norm=None):
    """Of what is left out, element n - k is the conjugate of k's: it counts as k does, which is twice."""
    real, imag = _parts(input)
    n = n or 2 * (real.shape[dim] - 1)
    half = n // 2 + 1
    real = _sized(real, half, dim)
    cos, sin = _roots(n, n, real, 1)
    twice = torch.tensor([1.0 if k == 0 or 2 * k == n else 2.0 for k in range(half)]).to(real.dtype).unsqueeze(1)
    twice = twice * _scale(n, norm, True)
    out = _along(real, cos[:half] * twice, dim)
    return out if imag is None else out - _along(_sized(imag, half, dim), sin[:half] * twice, dim)


def _dims(x, s, dim):
    if dim is None:
        dim = list(range(x.ndim if s is None else -len(s), 0)) if s is not None else list(range(x.ndim))
    dim = [dim] if isinstance(dim, int) else list(dim)
    return dim, [None] * len(dim) if s is None else [None if n == -1 else n for n in s]


def _each(transform, x, s, dim, norm):
    dim, s = _dims(x, s, dim)
    for d, n in zip(dim, s):
        x = transform(x, n, d, norm)
    return x


def fftn(input, s=None, dim=None, norm=None):
    return _each(fft, input, s, dim, norm)


def ifftn(input, s=None, dim=None, norm=None):
    return _each(ifft, input, s, dim, norm)


def rfftn(input, s=None, dim=None, norm=None):
    dim, s = _dims(input, s, dim)
    return fftn(rfft(input, s[-1], dim[-1], norm), s[:-1], dim[:-1], norm) if len(dim) > 1 else rfft(input, s[0], dim[0], norm)


def irfftn(input, s=None, dim=None, norm=None):
    dim, s = _dims(input, s, dim)
    return irfft(ifftn(input, s[:-1], dim[:-1], norm) if len(dim) > 1 else input, s[-1], dim[-1], norm)


def fft2(input, s=None, dim=(-2, -1), norm=None):
    return fftn(input, s, dim, norm)


def ifft2(input, s=None, dim=(-2, -1), norm=None):
    return ifftn(input, s, dim, norm)


def rfft2(input, s=None, dim=(-2, -1), norm=None):
    return rfftn(input, s, dim, norm)


def irfft2(input, s=None, dim=(-2, -1), norm=None):
    return irfftn(input, s, dim, norm)


def fftfreq(n, d=1.0, dtype=None, device=None):
    return torch.tensor([(k if k < (n + 1) // 2 else k - n) / (n * d) for k in range(n)])


def rfftfreq(n, d=1.0, dtype=None, device=None):
    return torch.tensor([k / (n * d) for k in range(n // 2 + 1)])


def fftshift(input, dim=None):
    dim = _dims(input, None, dim)[0]
    return torch.roll(input, [input.shape[d] // 2 for d in dim], dim)


def ifftshift(input, dim=None):
    dim = _dims(input, None, dim)[0]
    return torch.roll(input, [-(input.shape[d] // 2) for d in dim], dim)


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    refuse(f'torch.fft.{name} is not supported')
