"""torch: windows of signals, and differences and sums along lines of samples.

    torch.hann_window(4)    ->    tensor([0.0, 0.5, 1.0, 0.5])
"""
import torch
from _warpsmith import refuse

_arange = torch.arange


def _window(window_length, periodic, of, dtype, requires_grad):
    """of: from parts of a turn; a periodic window is that of one element more, without it."""
    if window_length < 2:
        w = torch.ones(window_length, dtype=torch.float64)
    else:
        w = of(_arange(window_length, dtype=torch.float64) / (window_length - (0 if periodic else 1)))
    w = w.to(dtype or torch.float32)
    return w.requires_grad_() if requires_grad else w


def _cosines(factors):
    return lambda t: sum([c * torch.cos(2 * torch.pi * k * t) for k, c in enumerate(factors)])


def bartlett_window(window_length, periodic=True, *, dtype=None, requires_grad=False, **placement):
    return _window(window_length, periodic, lambda t: 1 - (2 * t - 1).abs(), dtype, requires_grad)


def hann_window(window_length, periodic=True, *, dtype=None, requires_grad=False, **placement):
    return _window(window_length, periodic, _cosines((0.5, -0.5)), dtype, requires_grad)


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, requires_grad=False, **placement):
    return _window(window_length, periodic, _cosines((alpha, -beta)), dtype, requires_grad)


def blackman_window(window_length, periodic=True, *, dtype=None, requires_grad=False, **placement):
    return _window(window_length, periodic, _cosines((0.42, -0.5, 0.08)), dtype, requires_grad)


def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, requires_grad=False, **placement):
    from torch.signal.windows import kaiser
    return kaiser(window_length, beta=beta, sym=not periodic, dtype=dtype, requires_grad=requires_grad)


def _pairs(y, x, dx, dim):
    """The areas between neighbours."""
    n = y.size(dim)
    steps = dx if x is None else torch.diff(x, dim=dim if x.ndim > 1 else -1)
    return steps * (y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1)) / 2


def trapezoid(y, x=None, *, dx=1.0, dim=-1):
    if not y.size(dim):
        return y.sum(dim).to(y.dtype)
    if x is None:  # all but half of both ends: what PyTorch adds up
        return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * dx
    return _pairs(y, x, dx, dim).sum(dim)


def cumulative_trapezoid(y, x=None, *, dx=1.0, dim=-1):
    return _pairs(y, x, dx, dim).cumsum(dim)


def _along(x, step, dim, edge_order):
    """Half the difference of both neighbours; at the ends that of one, or of the parabola through three."""
    n = x.size(dim)
    if n < edge_order + 1:
        raise RuntimeError('torch.gradient expected each dimension size to be at least edge_order+1')
    at = lambda i: x.narrow(dim, i % n, 1)
    inner = (x.narrow(dim, 2, n - 2) - x.narrow(dim, 0, n - 2)) / (2 * step) if n > 2 else x.narrow(dim, 0, 0)
    first, last = at(1) - at(0), at(-1) - at(-2)
    if edge_order == 2:
        first, last = (4 * at(1) - 3 * at(0) - at(2)) / 2, (3 * at(-1) - 4 * at(-2) + at(-3)) / 2
    return torch.cat([first / step, inner, last / step], dim)


def _along_places(x, places, dim, edge_order):
    """The same where elements stand at places that are not apart alike: the slope of the parabola through three."""
    n = x.size(dim)
    apart = places.diff().reshape([-1 if k == dim % x.ndim else 1 for k in range(x.ndim)])
    at, gap = lambda i: x.narrow(dim, i % n, 1), lambda i: apart.narrow(dim, i % (n - 1), 1)

    def slope(a, b, c, left, right, t):
        """Where t is 0 at the first of three, 1 at the second, 2 at the third."""
        both = left + right
        ends = (-(2 * left + right) / (left * both), -right / (left * both), right / (left * both))[t]
        middle = (both / (left * right), (right - left) / (left * right), -both / (left * right))[t]
        return ends * a + middle * b + (-left / (right * both), left / (right * both), (2 * right + left) / (right * both))[t] * c
    inner = slope(*[x.narrow(dim, i, n - 2) for i in (0, 1, 2)], *[apart.narrow(dim, i, n - 2) for i in (0, 1)], 1) if n > 2 else None
    first, last = (at(1) - at(0)) / gap(0), (at(-1) - at(-2)) / gap(-1)
    if edge_order == 2:
        first = slope(at(0), at(1), at(2), gap(0), gap(1), 0)
        last = slope(at(-3), at(-2), at(-1), gap(-2), gap(-1), 2)
    return torch.cat([first, inner, last] if n > 2 else [first, last], dim)


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    spacing = 1 if spacing is None else spacing
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(steps) != len(dims):
        raise RuntimeError('torch.gradient expected spacing to be unspecified, a scalar, or of the same length as dim')
    kinds = [_along_places if hasattr(step, 'ndim') and step.ndim else _along for step in steps]
    return tuple([kind(input, step, d, edge_order) for kind, step, d in zip(kinds, steps, dims)])


def vander(x, N=None, increasing=False):
    powers = _arange(x.size(0) if N is None else N)
    return x.unsqueeze(1) ** (powers if increasing else powers.flip(0))
