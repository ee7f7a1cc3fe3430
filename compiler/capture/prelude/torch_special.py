"""torch.special: other names of functions of torch, and a few of its own."""
import math
import torch
from torch import sigmoid as expit, erf, erfc, exp2, expm1, log1p, round, sinc, logsumexp, logit, xlogy, erfinv
from torch import digamma, digamma as psi, i0, polygamma, mvlgamma as multigammaln
from torch._tensor import _bessel, _zeta
from torch import lgamma as gammaln
from torch import softmax, log_softmax
from torch._polynomials import *
from torch._polynomials import _doubles


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


def airy_ai(x):
    """Up to 7 below zero and 2 above by its power series; below that by Hankel's, above by the integral of K of the order 1/3."""
    z = x.double()
    a = z.clamp(-7, 2)
    cube, even, odd = a * a * a, 1, 1
    for k in range(30, 0, -1):
        even = 1 + even * cube / ((3 * k - 1) * 3 * k)
        odd = 1 + odd * cube / (3 * k * (3 * k + 1))
    near = even * 0.355028053887817239 - odd * a * 0.258819403792806798
    b = (-z).clamp(min=7)
    zeta = b ** 1.5 * (2 / 3)
    r, p, q, term = 1 / zeta, 1, 0, 1
    for k in range(1, 18):
        term = term * r * ((6 * k - 5) * (6 * k - 1) / (72 * k))
        sign = -1 if k // 2 % 2 else 1
        p, q = (p, q + term * sign) if k % 2 else (p + term * sign, q)
    angle = zeta - math.pi / 4
    low = (angle.cos() * p + angle.sin() * q) / (math.pi ** 0.5 * b ** 0.25)
    c = z.clamp(min=2)
    zeta, far = c ** 1.5 * (2 / 3), 0.5
    step = 0.25 * (2 / zeta).sqrt()
    for j in range(1, 29):
        t = step * j
        far = far + (-zeta * 2 * (t / 2).sinh() ** 2).exp() * (t / 3).cosh()
    high = far * step * (-zeta).exp() * (c / 3).sqrt() / math.pi
    out = torch.where(z < -7, low, torch.where(z > 2, high, near))
    return _from_double(x, torch.where(z.isinf(), math.nan, out))


def zeta(x, q):
    """The sum of (q + k)^-x. Below zero, x a whole number, it goes on from the terms there, which are those of 1 - q and of
    what is left of q."""
    (s, z), dtype = _doubles(x, q)
    s, z = torch.broadcast_tensors(s, z)
    whole, low = z == z.floor(), z < 0
    safe = torch.where(s > 1, s, 2)
    left = torch.where(low, torch.where(whole, 0.5, z - z.floor()), z.clamp(min=1e-300))
    out = _zeta(safe, left)
    mirrored = _zeta(safe, torch.where(low, 1 - left, 1)) - _zeta(safe, torch.where(low, 1 - z, 1))
    out = torch.where(low, out + torch.where(s.remainder(2) == 0, mirrored, -mirrored), out)
    out = torch.where((z <= 0) & whole, math.inf, torch.where(low & (s != s.floor()), math.nan, out))
    out = torch.where(s == 1, math.inf, torch.where(s < 1, math.nan, out))
    return torch.where((s != s) | (z != z), math.nan, out).to(dtype)


def _incomplete(a, x):
    """x^a e^-x / gamma(a) times the integral over u from 0 of exp(-(a w + x (e^-w - 1))): with w = u the lower incomplete gamma
    function P where x <= a, with w = -u the upper one Q above. From u = 0 on it falls, first like exp(-(d u + x u^2 / 2)), d
    the distance: u = scale exp(v - e^-v) has what counts in equal steps of v."""
    lower = x <= a
    distance = (a - x).abs()
    near = 2 / (distance + (distance * distance + 2 * x).sqrt())
    above = torch.where(x < 1, torch.minimum(near, 1 + torch.log1p(1 / x)), near)  # there it falls like exp(-x e^u)
    scale = torch.where(lower, torch.maximum(near, 1 / a), above)
    out, step = 0, 0.125
    for j in range(-28, 41):
        v = j * step
        u = scale * math.exp(v - math.exp(-v))
        w = torch.where(lower, u, -u)
        out = out + torch.exp(-(a * w + x * torch.expm1(-w))) * u * (step * (1 + math.exp(-v)))
    large, b = a > 16, a.clamp(min=16)
    m = (x - b) / b
    r = 1 / (b * b)
    stirling = (((r / 1680 - 1 / 1260) * r + 1 / 360) * r - 1 / 12) / b
    factor = (b / (2 * math.pi)).sqrt() * torch.exp(b * (torch.log1p(m) - m) + stirling)
    small = a.clamp(max=16)
    factor = torch.where(large, factor, torch.exp(small * x.log() - x - torch.lgamma(small)))
    return lower, out * factor


def _gammainc(a, x, upper):
    (a, given), dtype = _doubles(a, x)
    a, x = torch.broadcast_tensors(a.detach(), given.detach())
    usual = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    b, y = torch.where(usual, a, 1), torch.where(usual, x, 1)
    lower, part = _incomplete(b, y)
    part = part.clamp(max=1)
    out = torch.where(usual, torch.where(lower ^ upper, part, 1 - part), math.nan)
    known = (a >= 0) & (x >= 0)
    none = known & ((x == 0) & (a > 0) | (a == math.inf) & (x < math.inf))
    whole = known & ((a == 0) & (x > 0) | (x == math.inf) & (a < math.inf))
    out = torch.where(none, float(upper), torch.where(whole, 1 - float(upper), out))
    slope = torch.exp((b - 1) * y.log() - y - torch.lgamma(b)) * (-1 if upper else 1)
    change = torch.where(usual, given - x, 0)  # 0, with the gradient with respect to x: PyTorch has no other one
    return (out + change * slope).to(dtype)


def gammainc(input, other):
    return _gammainc(input, other, False)


def gammaincc(input, other):
    return _gammainc(input, other, True)
