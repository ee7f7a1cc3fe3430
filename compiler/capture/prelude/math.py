"""math: what is no function of one or two real numbers; those are in C."""
from math import sqrt, factorial, gcd


def comb(n, k):
    if n < 0 or k < 0:
        raise ValueError(f"{'n' if n < 0 else 'k'} must be a non-negative integer")
    out = 1
    for i in range(min(k, n - k) if k <= n else 0):
        out = out * (n - i) // (i + 1)
    return out if k <= n else 0


def perm(n, k=None):
    out = 1
    for i in range(n if k is None else k):
        out *= n - i
    return out


def lcm(*integers):
    out = 1
    for n in integers:
        out = abs(out * n) // gcd(out, n) if n else 0
    return out


def dist(p, q):
    return sqrt(sum([(a - b) ** 2 for a, b in zip(p, q)]))


def fsum(seq):
    """Partial sums that lose nothing (Shewchuk)."""
    partials = []
    for x in seq:
        kept = []
        for y in partials:
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low:
                kept.append(low)
            x = high
        partials = kept + [x]
    return sum(partials, 0.0)
