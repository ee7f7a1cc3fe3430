"""numpy.random: the numbers of numpy's functions and of its RandomState, by MT19937 as module random has it."""
from math import log, sqrt
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
randint, shuffle, permutation, choice = _shared.randint, _shared.shuffle, _shared.permutation, _shared.choice


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    refuse(f'numpy.random.{name} is not supported')
