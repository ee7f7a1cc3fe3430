"""statistics of plain numbers."""
from math import exp, fsum, log, sqrt


class StatisticsError(ValueError):
    pass


def _numbers(data, least, name):
    data = list(data)
    if len(data) < least:
        points = 'one data point' if least == 1 else 'two data points'
        raise StatisticsError(f'{name} requires at least {points}')
    return data


def _whole(x, data):
    return int(x) if all([isinstance(v, int) for v in data]) and x == int(x) else x


def fmean(data):
    data = _numbers(data, 1, 'fmean')
    return fsum(data) / len(data)


def mean(data):
    data = _numbers(data, 1, 'mean')
    return _whole(fsum(data) / len(data), data)


def median(data):
    data = sorted(_numbers(data, 1, 'median'))
    n = len(data)
    return data[n // 2] if n % 2 else (data[n // 2 - 1] + data[n // 2]) / 2


def median_low(data):
    data = sorted(_numbers(data, 1, 'median_low'))
    return data[(len(data) - 1) // 2]


def median_high(data):
    data = sorted(_numbers(data, 1, 'median_high'))
    return data[len(data) // 2]


def mode(data):
    data = _numbers(data, 1, 'mode')
    return max(data, key=data.count)


def _squares(data, center):
    center = fsum(data) / len(data) if center is None else center
    return fsum([(x - center) ** 2 for x in data])


def pvariance(data, mu=None):
    data = _numbers(data, 1, 'pvariance')
    return _whole(_squares(data, mu) / len(data), data)


def variance(data, xbar=None):
    data = _numbers(data, 2, 'variance')
    return _whole(_squares(data, xbar) / (len(data) - 1), data)


def stdev(data, xbar=None):
    return sqrt(variance(data, xbar))


def pstdev(data, mu=None):
    return sqrt(pvariance(data, mu))


def geometric_mean(data):
    return exp(fmean([log(x) for x in data]))


def harmonic_mean(data):
    data = _numbers(data, 1, 'harmonic_mean')
    return len(data) / fsum([1 / x for x in data])
