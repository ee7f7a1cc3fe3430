"""random: the numbers of CPython, from the same generator, MT19937 (Matsumoto and Nishimura), by the same methods."""
from _warpsmith import clock, refuse
from math import ceil, cos, exp, floor, log, pi, sin, sqrt

_N, _M = 624, 397
_MASK = 0xffffffff


def _seeded(n):
    state = [n]
    for i in range(1, _N):
        last = state[-1]
        state.append((1812433253 * (last ^ (last >> 30)) & _MASK) + i & _MASK)
    return state


def _by_array(key):
    state = _seeded(19650218)
    i, j = 1, 0
    for steps, factor in ((max(_N, len(key)), 1664525), (_N - 1, 1566083941)):
        for _ in range(steps):
            last = state[i - 1]
            mixed = state[i] ^ ((last ^ (last >> 30)) * factor & _MASK)
            state[i] = (mixed + key[j] + j if factor == 1664525 else mixed - i) & _MASK
            i, j = i + 1, (j + 1) % len(key)
            if i == _N:
                state[0] = state[-1]
                i = 1
    state[0] = 0x80000000
    return state


def _twisted(high, low, far):
    y = high & 0x80000000 | low & 0x7fffffff
    return far ^ (y >> 1) ^ (0x9908b0df if y & 1 else 0)


class Random:
    VERSION = 3

    def __init__(self, x=None):
        self.seed(x)

    def seed(self, a=None, version=2):
        if a is None:
            a = int(clock() * 1e6)
        if not isinstance(a, int):
            refuse(f'random.seed() of {type(a).__name__} is not supported; seed with an int')
        a = abs(a)
        self._state, self._at = _by_array([a & _MASK, a >> 32] if a >> 32 else [a]), _N
        self.gauss_next = None

    def getstate(self):
        return self.VERSION, tuple(self._state + [self._at]), self.gauss_next

    def setstate(self, state):
        version, words, self.gauss_next = state
        self._state, self._at = list(words[:-1]), words[-1]

    def _word(self):
        if self._at == _N:
            s = self._state
            for i in range(_N):
                s[i] = _twisted(s[i], s[i + 1 - _N], s[i + _M - _N])
            self._at = 0
        y = self._state[self._at]
        self._at += 1
        y ^= y >> 11
        y ^= y << 7 & 0x9d2c5680
        y ^= y << 15 & 0xefc60000
        return y ^ (y >> 18)

    def random(self):
        high, low = self._word() >> 5, self._word() >> 6
        return (high * 67108864.0 + low) / 9007199254740992.0

    def getrandbits(self, k):
        if k > 62:
            refuse('random.getrandbits() of more than 62 bits is not supported')
        if k <= 32:
            return self._word() >> (32 - k) if k else 0
        low = self._word()
        return low | self._word() >> (64 - k) << 32

    def _below(self, n):
        k = n.bit_length()
        r = self.getrandbits(k)
        while r >= n:
            r = self.getrandbits(k)
        return r

    def randrange(self, start, stop=None, step=1):
        if stop is None:
            start, stop = 0, start
        n = len(range(start, stop, step))
        if n == 0:
            raise ValueError('empty range for randrange()' if step == 1 and start == 0 else
                             f'empty range for randrange() ({start}, {stop}, {stop - start})')
        return start + step * self._below(n)

    def randint(self, a, b):
        return self.randrange(a, b + 1)

    def choice(self, seq):
        if not len(seq):
            raise IndexError('Cannot choose from an empty sequence')
        return seq[self._below(len(seq))]

    def shuffle(self, x):
        for i in range(len(x) - 1, 0, -1):
            j = self._below(i + 1)
            x[i], x[j] = x[j], x[i]

    def sample(self, population, k, *, counts=None):
        if counts is not None:
            refuse('random.sample() with counts is not supported')
        n = len(population)
        if not 0 <= k <= n:
            raise ValueError('Sample larger than population or is negative')
        few = 21  # as large a set as a list of n would be small
        if k > 5:
            few += 4 ** ceil(log(k * 3, 4))
        if n <= few:
            pool, out = list(population), []
            for i in range(k):
                j = self._below(n - i)
                out.append(pool[j])
                pool[j] = pool[n - i - 1]
            return out
        taken = {}
        while len(taken) < k:
            taken[self._below(n)] = True
        return [population[j] for j in taken]

    def choices(self, population, weights=None, *, cum_weights=None, k=1):
        n = len(population)
        if weights is None and cum_weights is None:
            return [population[floor(self.random() * n)] for i in range(k)]
        if weights is not None:
            cum_weights = []
            for w in weights:
                cum_weights.append(cum_weights[-1] + w if cum_weights else w)
        if len(cum_weights) != n:
            raise ValueError('The number of weights does not match the population')
        from bisect import bisect
        total = cum_weights[-1] + 0.0
        return [population[min(bisect(cum_weights, self.random() * total), n - 1)] for i in range(k)]

    def uniform(self, a, b):
        return a + (b - a) * self.random()

    def triangular(self, low=0.0, high=1.0, mode=None):
        u = self.random()
        c = 0.5 if mode is None else (mode - low) / (high - low)
        if u > c:
            u, c, low, high = 1.0 - u, 1.0 - c, high, low
        return low + (high - low) * sqrt(u * c)

    def gauss(self, mu=0.0, sigma=1.0):
        z, self.gauss_next = self.gauss_next, None
        if z is None:
            x = self.random() * 2 * pi
            r = sqrt(-2.0 * log(1.0 - self.random()))
            z, self.gauss_next = cos(x) * r, sin(x) * r
        return mu + z * sigma

    def normalvariate(self, mu=0.0, sigma=1.0):
        """Ratio of uniforms (Kinderman and Monahan)."""
        while True:
            u1, u2 = self.random(), 1.0 - self.random()
            z = 4 * exp(-0.5) / sqrt(2.0) * (u1 - 0.5) / u2
            if z * z / 4.0 <= -log(u2):
                return mu + z * sigma

    def lognormvariate(self, mu=0.0, sigma=1.0):
        return exp(self.normalvariate(mu, sigma))

    def expovariate(self, lambd=1.0):
        return -log(1.0 - self.random()) / lambd


_shared = Random()
seed, getstate, setstate, getrandbits = _shared.seed, _shared.getstate, _shared.setstate, _shared.getrandbits
random, uniform, triangular, gauss = _shared.random, _shared.uniform, _shared.triangular, _shared.gauss
normalvariate, lognormvariate, expovariate = _shared.normalvariate, _shared.lognormvariate, _shared.expovariate
randrange, randint, choice, choices = _shared.randrange, _shared.randint, _shared.choice, _shared.choices
shuffle, sample = _shared.shuffle, _shared.sample
