"""numpy: what models use of it on plain numbers. Arrays are not there."""
import math
from math import sqrt, exp, log, log2, log10, sin, cos, tan, tanh, floor, ceil, pi, e, inf, nan
from _warpsmith import refuse

newaxis = None
float32, float64, int32, int64, bool_ = float, float, int, int, bool
abs, max, min, round = abs, max, min, round


class ndarray:
    pass


def prod(values):
    return math.prod(values)


def mean(values):
    return sum(values) / len(values)


def clip(x, low, high):
    return min(max(x, low), high)


def cumsum(values):
    out = []
    for v in values:
        out.append(out[-1] + v if out else v)
    return out


def linspace(start, stop, num=50):
    return [start + (stop - start) * i / (num - 1) if num > 1 else start for i in range(num)]


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    refuse(f'numpy.{name} is not supported; torch and math have functions for tensors and numbers')
