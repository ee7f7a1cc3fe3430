"""torch.signal.windows: each is a function of places around the middle, or of parts of a turn; of sym=False one element
more is computed, and left out.

    torch.signal.windows.hann(5)    ->    tensor([0.0, 0.5, 1.0, 0.5, 0.0])
"""
import math
import torch


def _made(M, sym, dtype, requires_grad, of):
    """of: from the numbers of elements, and how many there are, in f64."""
    if M < 0:
        raise ValueError(f'requires non-negative window length, got M={M}')
    n = M if sym else M + 1
    if M > 1:
        w = of(torch.arange(M, dtype=torch.float64), n)
    else:
        w = torch.ones(M, dtype=torch.float64)
    w = w.to(dtype or torch.float32)
    return w.requires_grad_() if requires_grad else w


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    if not a:
        raise ValueError('Coefficients cannot be empty')
    def of(k, n):
        terms = [(-1) ** i * c * torch.cos(2 * math.pi * i * k / (n - 1)) for i, c in enumerate(a)]
        return sum(terms[1:], terms[0])
    return _made(M, sym, dtype, requires_grad, of)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, requires_grad=requires_grad)


def hamming(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    return general_hamming(M, sym=sym, dtype=dtype, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, requires_grad=requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, requires_grad=requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, requires_grad=requires_grad)


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    return _made(M, sym, dtype, requires_grad, lambda k, n: 1 - (2 * k / (n - 1) - 1).abs())


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    return _made(M, sym, dtype, requires_grad, lambda k, n: torch.sin(math.pi * (k + 0.5) / n))


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    if std <= 0:
        raise ValueError(f'Standard deviation must be positive, got: {std} instead.')
    return _made(M, sym, dtype, requires_grad, lambda k, n: torch.exp(-((k - (n - 1) / 2) / std) ** 2 / 2))


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    if tau <= 0:
        raise ValueError(f'Tau must be positive, got: {tau} instead.')
    if sym and center is not None:
        raise ValueError('Center must be None for symmetric windows')
    middle = lambda n: (n - 1) / 2 if center is None else center
    return _made(M, sym, dtype, requires_grad, lambda k, n: torch.exp(-(k - middle(n)).abs() / tau))


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    if beta < 0:
        raise ValueError(f'beta must be non-negative, got: {beta} instead.')
    def of(k, n):
        t = 2 * k / (n - 1) - 1
        return torch.i0(beta * (1 - t * t).clamp(min=0).sqrt()) / torch.i0(torch.full((), beta, dtype=torch.float64))
    return _made(M, sym, dtype, requires_grad, of)
