"""torch.special's orthogonal polynomials, in f64. The four of Chebyshev are waves of the angle, of any degree:

    T(cos t) = cos n t    U = sin (n + 1) t / sin t    V = cos (n + 1/2) t / cos t/2    W = sin (n + 1/2) t / sin t/2

The others step from degree to degree: as often as a number n says, of a tensor of degrees up to _MOST, nan above."""
import math
import torch

_MOST = 128  # PyTorch's own limit of Hermite's in f32


def _doubles(*given):
    """What functions of two numbers or tensors are computed of, and the type of the result."""
    dtypes = [v.dtype for v in given if isinstance(v, torch.Tensor)]
    dtype = torch.result_type(*given) if len(dtypes) > 1 else dtypes[0]
    dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
    return [v.double() if isinstance(v, torch.Tensor) else torch.tensor(float(v), dtype=torch.float64) for v in given], dtype


def _chebyshev(kind, x, n):
    (x, n), dtype = _doubles(x, n)
    n, size, back = n.trunc(), x.abs(), x < 0
    odd = n.remainder(2) == 1
    # kinds 0 to 3 are T, U, V, W; V and W change places where x does its sign
    half = 0.5 if kind > 1 else 1.0
    sine = back ^ (kind == 3) if kind > 1 else torch.full_like(back, kind == 1)
    turns = n + (0, 1, 0.5, 0.5)[kind]
    inside, one = size < 1, size == 1
    t, u = size.clamp(max=1).acos(), size.clamp(min=1).acosh()
    upper = torch.where(sine, torch.where(inside, (turns * t).sin(), (turns * u).sinh()),
                        torch.where(inside, (turns * t).cos(), (turns * u).cosh()))
    lower = torch.where(sine, torch.where(inside, (half * t).sin(), (half * u).sinh()),
                        torch.where(inside, (half * t).cos(), (half * u).cosh()))
    out = upper if kind == 0 else torch.where(sine & one, turns / half, upper / torch.where(sine & one, 1, lower))
    out = torch.where(size == math.inf, math.inf, out)
    out = torch.where(back & odd, -out, out)
    return torch.where(n <= 0, torch.where(n == 0, 1, 0), out).to(dtype)


def _stepped(x, n, second, step, limit=None):
    """p[0] = 1, p[1] = second(x), p[k + 1] = step(x, k, p[k], p[k - 1])."""
    (z, degrees), dtype = _doubles(x, n)
    p, q = torch.ones_like(z), second(z)
    if not isinstance(n, torch.Tensor):
        n = int(n)
        if n < 0 or limit and n > limit:
            return torch.full_like(p, 0 if n < 0 else math.nan).to(dtype)
        for k in range(1, n):
            p, q = q, step(z, k, q, p)
        return (q if n else p).to(dtype)
    z, degrees = torch.broadcast_tensors(z, degrees.trunc())
    p, q = torch.ones_like(z), second(z)
    out = torch.where(degrees < 0, 0, torch.where(degrees == 0, p, q))
    for k in range(1, _MOST):
        p, q = q, step(z, k, q, p)
        out = torch.where(degrees > k, q, out)
    return torch.where(degrees > _MOST, math.nan, out).to(dtype)


def chebyshev_polynomial_t(input, n):
    return _chebyshev(0, input, n)


def chebyshev_polynomial_u(input, n):
    return _chebyshev(1, input, n)


def chebyshev_polynomial_v(input, n):
    return _chebyshev(2, input, n)


def chebyshev_polynomial_w(input, n):
    return _chebyshev(3, input, n)


def _shifted(x):
    """Where -1 to 1 is 0 to 1."""
    return 2 * x.double() - 1 if isinstance(x, torch.Tensor) else 2 * x - 1


def _of_shifted(kind, x, n):
    dtype = _doubles(x, n)[1]
    return _chebyshev(kind, _shifted(x), n).to(dtype)


def shifted_chebyshev_polynomial_t(input, n):
    return _of_shifted(0, input, n)


def shifted_chebyshev_polynomial_u(input, n):
    return _of_shifted(1, input, n)


def shifted_chebyshev_polynomial_v(input, n):
    return _of_shifted(2, input, n)


def shifted_chebyshev_polynomial_w(input, n):
    return _of_shifted(3, input, n)


def hermite_polynomial_h(input, n):
    return _stepped(input, n, lambda x: 2 * x, lambda x, k, q, p: 2 * (x * q - k * p), _MOST)


def hermite_polynomial_he(input, n):
    return _stepped(input, n, lambda x: x, lambda x, k, q, p: x * q - k * p, _MOST)


def laguerre_polynomial_l(input, n):
    return _stepped(input, n, lambda x: 1 - x, lambda x, k, q, p: ((2 * k + 1 - x) * q - k * p) / (k + 1))


def legendre_polynomial_p(input, n):
    return _stepped(input, n, lambda x: x, lambda x, k, q, p: ((2 * k + 1) * x * q - k * p) / (k + 1))
