"""scipy.stats: the normal distribution, whole and cut off, of numbers and arrays; initialisations ask for these."""
import later
import math
import torch
from scipy.special import _of_values

_s = torch.special


def _density(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi) if math.isfinite(x) else 0.0


def _below(x):
    return math.erfc(-x / math.sqrt(2)) / 2


class _Normal:
    def cdf(self, x, loc=0, scale=1):
        return _of_values(lambda x: _s.ndtr((x - loc) / scale))(x)

    def ppf(self, q, loc=0, scale=1):
        return _of_values(lambda q: _s.ndtri(q) * scale + loc)(q)

    def pdf(self, x, loc=0, scale=1):
        return _of_values(lambda x: torch.exp(-((x - loc) / scale) ** 2 / 2) / (scale * math.sqrt(2 * math.pi)))(x)

    def rvs(self, loc=0, scale=1, size=1, random_state=None):
        return (torch.randn(size, dtype=torch.float64) * scale + loc).numpy()


class _CutNormal:
    """Between a and b deviations from the middle."""

    def mean(self, a, b, loc=0, scale=1):
        return loc + scale * (_density(a) - _density(b)) / (_below(b) - _below(a))

    def var(self, a, b, loc=0, scale=1):
        inside, at = _below(b) - _below(a), lambda x: x * _density(x) if math.isfinite(x) else 0.0
        return scale ** 2 * (1 + (at(a) - at(b)) / inside - ((_density(a) - _density(b)) / inside) ** 2)

    def std(self, a, b, loc=0, scale=1):
        return math.sqrt(self.var(a, b, loc, scale))

    def rvs(self, a, b, loc=0, scale=1, size=1, random_state=None):
        u = torch.rand(size, dtype=torch.float64) * (_below(b) - _below(a)) + _below(a)
        return (_s.ndtri(u).clamp(a, b) * scale + loc).numpy()


norm, truncnorm = _Normal(), _CutNormal()


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    return later.of(__name__, name)
