"""numpy.random: the numbers of numpy's functions and of its RandomState, by MT19937 as module random has it."""
import later
from math import exp, log, sqrt
import numpy
import torch
from random import Random, _seeded, _N
from _warpsmith import refuse


def _count(size):
    n = 1
    for k in [size] if isinstance(size, int) else size:
        n *= k
    return n


class RandomState:
    def __init__(self, seed=None):
        self._source, self._left = Random(0), None
        self.seed(seed)

    def seed(self, seed=None):
        if seed is None:
            self._source.seed(None)
        else:
            self._source._state, self._source._at = _seeded(seed & 0xffffffff), _N
        self._left = None

    def _many(self, size, draw, dtype=torch.float64):
        if size is None:
            return draw()
        shape = [size] if isinstance(size, int) else list(size)
        values = [draw() for _ in range(_count(size))]
        return numpy.ndarray(torch.tensor(values, dtype=dtype).reshape(shape))

    def random_sample(self, size=None):
        return self._many(size, self._source.random)

    random = sample = ranf = random_sample

    def rand(self, *shape):
        return self.random_sample(shape or None)

    def _gauss(self):
        """Marsaglia's polar method, two at a time."""
        if self._left is not None:
            z, self._left = self._left, None
            return z
        r = 0.0
        while r >= 1 or r == 0:
            x, y = 2 * self._source.random() - 1, 2 * self._source.random() - 1
            r = x * x + y * y
        f = sqrt(-2 * log(r) / r)
        self._left = f * x
        return f * y

    def standard_normal(self, size=None):
        return self._many(size, self._gauss)

    def randn(self, *shape):
        return self.standard_normal(shape or None)

    def normal(self, loc=0.0, scale=1.0, size=None):
        return self._many(size, lambda: loc + scale * self._gauss())

    def uniform(self, low=0.0, high=1.0, size=None):
        return self._many(size, lambda: low + (high - low) * self._source.random())

    def _exponential(self):
        return -log(1.0 - self._source.random())

    def exponential(self, scale=1.0, size=None):
        return self._many(size, lambda: scale * self._exponential())

    def rayleigh(self, scale=1.0, size=None):
        return self._many(size, lambda: scale * sqrt(2.0 * self._exponential()))

    def standard_exponential(self, size=None):
        return self._many(size, self._exponential)

    def _gamma(self, shape):
        """Marsaglia and Tsang's of 1 and more; of less than 1 Ahrens and Dieter's."""
        if shape == 1.0:
            return self._exponential()
        if shape == 0.0:
            return 0.0
        while shape < 1.0:
            u, v = self._source.random(), self._exponential()
            if u <= 1.0 - shape:
                x = u ** (1.0 / shape)
                if x <= v:
                    return x
            else:
                y = -log((1.0 - u) / shape)
                x = (1.0 - shape + shape * y) ** (1.0 / shape)
                if x <= v + y:
                    return x
        b = shape - 1.0 / 3.0
        c = 1.0 / sqrt(9 * b)
        while True:
            x = self._gauss()
            v = (1.0 + c * x) ** 3
            if v <= 0.0:
                continue
            u = self._source.random()
            if u < 1.0 - 0.0331 * x ** 4 or log(u) < 0.5 * x * x + b * (1.0 - v + log(v)):
                return b * v

    def standard_gamma(self, shape, size=None):
        return self._many(size, lambda: self._gamma(shape))

    def gamma(self, shape, scale=1.0, size=None):
        return self._many(size, lambda: scale * self._gamma(shape))

    def _beta(self, a, b):
        if a > 1.0 or b > 1.0:
            x, y = self._gamma(a), self._gamma(b)
            return x / (x + y)
        while True:  # Johnk's
            u, v = self._source.random(), self._source.random()
            x, y = u ** (1.0 / a), v ** (1.0 / b)
            if x + y <= 1.0 and u + v > 0.0:
                if x + y > 0:
                    return x / (x + y)
                x, y = log(u) / a, log(v) / b
                most = max(x, y)
                return exp(x - most - log(exp(x - most) + exp(y - most)))

    def beta(self, a, b, size=None):
        return self._many(size, lambda: self._beta(a, b))

    def dirichlet(self, alpha, size=None):
        alpha = [float(a) for a in alpha]
        shape = [] if size is None else [size] if isinstance(size, int) else list(size)
        rows = []
        for _ in range(_count(shape)):
            row = [self._gamma(a) for a in alpha]
            rows.append([x / sum(row) for x in row])
        return numpy.ndarray(torch.tensor(rows, dtype=torch.float64).reshape(shape + [len(alpha)]))

    def _upto(self, most):
        """An integer of 0 .. most: bits of a word until they are one."""
        mask = (1 << most.bit_length()) - 1
        value = self._source._word() & mask if most else 0
        while value > most:
            value = self._source._word() & mask
        return value

    def randint(self, low, high=None, size=None, dtype=int):
        low, high = (0, low) if high is None else (low, high)
        if low >= high:
            raise ValueError('low >= high')
        return self._many(size, lambda: low + self._upto(high - 1 - low), numpy._of(dtype))

    def shuffle(self, x):
        for i in range(len(x) - 1, 0, -1):
            j = self._upto(i)
            if isinstance(x, numpy.ndarray):
                x._t[[i, j]] = x._t[[j, i]].clone()
            else:
                x[i], x[j] = x[j], x[i]

    def permutation(self, x):
        order = list(range(x if isinstance(x, int) else len(x)))
        self.shuffle(order)
        return numpy.array(order) if isinstance(x, int) else numpy.asarray(x)[order]

    def choice(self, a, size=None, replace=True, p=None):
        n = a if isinstance(a, int) else len(a)
        if p is not None:
            if not replace:
                refuse('numpy.random.choice() with p and without replacement is not supported')
            total = numpy.cumsum(p).tolist()
            chosen = self._many(size, lambda: len([t for t in total if t / total[-1] <= u]) if (u := self._source.random()) else 0,
                                torch.int64)
        elif replace:
            chosen = self.randint(0, n, size)
        else:
            chosen = self.permutation(n)[:1 if size is None else _count(size)]
            chosen = chosen[0] if size is None else chosen.reshape(size)
        return chosen if isinstance(a, int) else a[chosen] if isinstance(chosen, int) else numpy.asarray(a)[chosen]


_shared = RandomState()
seed, random_sample, random, sample, rand = _shared.seed, _shared.random_sample, _shared.random, _shared.sample, _shared.rand
standard_normal, randn, normal, uniform = _shared.standard_normal, _shared.randn, _shared.normal, _shared.uniform
exponential, standard_exponential, standard_gamma, gamma = _shared.exponential, _shared.standard_exponential, _shared.standard_gamma, _shared.gamma
beta, dirichlet, rayleigh = _shared.beta, _shared.dirichlet, _shared.rayleigh
randint, shuffle, permutation, choice = _shared.randint, _shared.shuffle, _shared.permutation, _shared.choice


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    return later.of(__name__, name)
