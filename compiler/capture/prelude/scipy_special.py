"""scipy.special: torch.special's functions of arrays, which count in f64."""
import math
import torch
from numpy.linalg import _of_arrays



def _of_values(function):
    """Of arrays, and of numbers."""
    run = _of_arrays(function)
    return lambda x, *args: float(run([float(x)], *args)[0]) if isinstance(x, (int, float)) else run(x, *args)


def _of_degrees(function):
    """Of a degree and a point, numbers or arrays."""
    run = _of_arrays(lambda n, x: function(x, n))
    return lambda n, x: float(run([n], [float(x)])[0]) if isinstance(n, int) and isinstance(x, (int, float)) else run(n, x)


_s = torch.special
expit, logit, erf, erfc, erfinv = [_of_values(f) for f in (_s.expit, _s.logit, _s.erf, _s.erfc, _s.erfinv)]
gammaln, digamma, psi, ndtr, ndtri = [_of_values(f) for f in (_s.gammaln, _s.digamma, _s.digamma, _s.ndtr, _s.ndtri)]
i0, i1, j0, j1, xlogy = [_of_values(f) for f in (_s.i0, _s.i1, _s.bessel_j0, _s.bessel_j1, _s.xlogy)]
eval_legendre, eval_chebyt, eval_chebyu, eval_hermite, eval_hermitenorm, eval_laguerre = [
    _of_degrees(f) for f in (_s.legendre_polynomial_p, _s.chebyshev_polynomial_t, _s.chebyshev_polynomial_u,
                             _s.hermite_polynomial_h, _s.hermite_polynomial_he, _s.laguerre_polynomial_l)]
softmax = _of_arrays(lambda x, axis=None: torch.softmax(x.reshape(-1) if axis is None else x, -1 if axis is None else axis).reshape(x.shape))
log_softmax = _of_arrays(lambda x, axis=None: torch.log_softmax(x.reshape(-1) if axis is None else x, -1 if axis is None else axis).reshape(x.shape))


def logsumexp(a, axis=None, keepdims=False):
    def of(x):
        dims = list(range(x.ndim)) if axis is None else axis
        return torch.logsumexp(x, dims, keepdims)
    return _of_arrays(of)(a)


def comb(N, k, exact=False, repetition=False):
    found = math.comb(N + k - 1 if repetition else N, k)
    return found if exact else float(found)


def binom(n, k):
    """Of any numbers; of whole ones it is how many subsets there are."""
    n, k = float(n), float(k)
    if n == int(n) and k == int(k) and n >= 0:
        return float(math.comb(int(n), int(k))) if k >= 0 else 0.0
    if k == int(k) and 0 <= k <= 1000:
        product = 1.0
        for i in range(int(k)):
            product *= (n - i) / (i + 1)
        return product
    return math.gamma(n + 1) / (math.gamma(k + 1) * math.gamma(n - k + 1))


def factorial(n, exact=False):
    return math.factorial(n) if exact else float(math.factorial(n))
