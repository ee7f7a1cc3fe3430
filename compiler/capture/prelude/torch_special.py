"""torch.special: other names of functions of torch, and a few of its own."""
import math
import torch
from torch import sigmoid as expit, erf, erfc, exp2, expm1, log1p, round, sinc, logsumexp, logit, xlogy, erfinv
from torch import digamma, digamma as psi, i0, polygamma, mvlgamma as multigammaln
from torch._tensor import _bessel
from torch import lgamma as gammaln
from torch import softmax, log_softmax


def entr(x):
    x = x if x.is_floating_point() else x.float()
    return torch.where(x == 0, 0, torch.where(x < 0, -torch.inf, -x * x.log()))


def ndtr(x):
    return torch.erfc(x * -0.7071067811865476) / 2


def xlog1py(x, y):
    return torch.where((x == 0) & (y == y), 0, x * torch.log1p(y))


def i0e(x):
    return _bessel(x, 0, True)


def i1(x):
    return _bessel(x, 1, False)


def i1e(x):
    return _bessel(x, 1, True)


modified_bessel_i0, modified_bessel_i1 = i0, i1


def _from_double(x, out):
    return out.to(x.dtype if x.is_floating_point() else torch.float32)


def erfcx(x):
    """exp(x^2) erfc(x), in f64, beyond 24 by the asymptotic series."""
    z = x.double()
    far = z.clamp(min=24)
    r, series = 1 / (2 * far * far), 1
    for k in range(8, 0, -1):
        series = 1 - (2 * k - 1) * r * series
    near = z.clamp(max=24)
    out = torch.where(z < 24, (near * near).exp() * near.erfc(), series / (far * math.sqrt(math.pi)))
    return _from_double(x, torch.where(z == math.inf, 0, out))


def log_ndtr(x):
    z = x.double()
    low = z < -1
    below, above = torch.where(low, z, -1) * -math.sqrt(0.5), torch.where(low, 0, z) * math.sqrt(0.5)
    out = torch.where(low, (erfcx(below) / 2).log() - below * below, torch.log1p(-above.erfc() / 2))
    return _from_double(x, torch.where(z == -math.inf, z, out))


def ndtri(p):
    return _from_double(p, erfinv(2 * p.double() - 1) * math.sqrt(2))


def spherical_bessel_j0(x):
    z = x.double()
    zero = z == 0
    out = torch.where(zero, 1, z.sin() / torch.where(zero, 1, z))
    return _from_double(x, torch.where(z.isinf(), 0, out))


# -- Bessel functions, in f64: up to 25 their integrals over half a turn by the rule of trapezoids, which is exact but for
#    J of as many orders as there are places; beyond by Hankel's series


_NEAR, _PLACES = 25, 64
_TURNS = [math.pi * (j + 0.5) / _PLACES for j in range(_PLACES // 2)]  # the other half mirrors them


def _near(a, order, weights):
    """The mean of weights times cos(a sin t), or sin t sin(a sin t)."""
    out = 0
    for t, w in zip(_TURNS, weights):
        s = math.sin(t)
        out = out + ((a * s).sin() * (w * s) if order else (a * s).cos() * w)
    return out * (2 / _PLACES)


def _far(a, order, turned):
    """sqrt(2 / (pi a)) times P cos - Q sin, or P sin + Q cos where turned."""
    r, even, odd, term = 1 / (8 * a), 1, 0, 1
    for k in range(1, 25):
        term = term * r * ((4 * order * order - (2 * k - 1) ** 2) / k)
        sign = -1 if k // 2 % 2 else 1
        if k % 2:
            odd = odd + term * sign
        else:
            even = even + term * sign
    angle = a - (order / 2 + 0.25) * math.pi
    wave = even * angle.sin() + odd * angle.cos() if turned else even * angle.cos() - odd * angle.sin()
    return wave * (2 / (math.pi * a)).sqrt()


def _first_kind(x, order):
    z = x.double()
    a = z.abs()
    near = _near(a.clamp(max=_NEAR), order, [1] * len(_TURNS))
    out = torch.where(a < _NEAR, near, _far(a.clamp(min=_NEAR), order, False))
    out = torch.where(a == math.inf, 0, out)
    return _from_double(x, out * z.sign() if order else out)


def bessel_j0(x):
    return _first_kind(x, 0)


def bessel_j1(x):
    return _first_kind(x, 1)


_GAMMA = 0.57721566490153286  # Euler's
# What Neumann's series of J of even orders has as a weight at each place.
_NEUMANN = [sum([(-1) ** k * math.cos(2 * k * t) / k for k in range(1, 33)]) for t in _TURNS]


def _second_kind(x, order):
    z = x.double()
    a, one = z.clamp(1e-300, _NEAR), [1] * len(_TURNS)
    logarithm = ((a / 2).log() + _GAMMA) * (2 / math.pi)
    if order:
        near = logarithm * _near(a, 1, one) - _near(a, 0, one) * 2 / (math.pi * a) - _near(a, 1, _NEUMANN) * (4 / math.pi)
    else:
        near = logarithm * _near(a, 0, one) - _near(a, 0, _NEUMANN) * (4 / math.pi)
    out = torch.where(z < _NEAR, near, _far(z.clamp(min=_NEAR), order, True))
    out = torch.where(z == math.inf, 0, torch.where(z == 0, -math.inf, torch.where(z < 0, math.nan, out)))
    return _from_double(x, out)


def bessel_y0(x):
    return _second_kind(x, 0)


def bessel_y1(x):
    return _second_kind(x, 1)


def _third_kind(x, order, scaled):
    """K, up to 2 by its power series, beyond by the integral of exp(-x cosh t); scaled: times exp(x)."""
    z = x.double()
    a = z.clamp(1e-300, 2)
    q, h, factor, terms, rest = a * a / 4, 0.0, 1, 0, 0
    for k in range(20):
        if order:
            terms = terms + factor / (k + 1)
            rest = rest + factor / (k + 1) * (2 * h + 1 / (k + 1) - 2 * _GAMMA)
        else:
            terms, rest = terms + factor, rest + factor * (h - _GAMMA)
        h += 1 / (k + 1)
        factor = factor * q / (k + 1) ** 2
    logarithm = (a / 2).log()
    near = 1 / a + logarithm * terms * a / 2 - rest * a / 4 if order else rest - logarithm * terms
    far, b = 0.5, z.clamp(min=2)
    step = 0.25 * (2 / b).sqrt()
    for j in range(1, 29):
        rise = 2 * (step * (j / 2)).sinh() ** 2
        far = far + (-b * rise).exp() * (1 + rise if order else 1)
    far = far * step
    near, far = near * a.exp() if scaled else near, far if scaled else far * (-b).exp()
    out = torch.where(z < 2, near, far)
    return _from_double(x, torch.where(z == 0, math.inf, torch.where(z < 0, math.nan, out)))


def modified_bessel_k0(x):
    return _third_kind(x, 0, False)


def modified_bessel_k1(x):
    return _third_kind(x, 1, False)


def scaled_modified_bessel_k0(x):
    return _third_kind(x, 0, True)


def scaled_modified_bessel_k1(x):
    return _third_kind(x, 1, True)
