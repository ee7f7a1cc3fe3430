def partial(function, *args, **kwargs):
    return lambda *more, **named: function(*args, *more, **{**kwargs, **named})


def wraps(wrapped):
    return lambda wrapper: wrapper


def reduce(function, items, *start):
    items = iter(items)
    total = start[0] if start else next(items)
    for item in items:
        total = function(total, item)
    return total


def cache(function):
    return function


def lru_cache(maxsize=128, typed=False):
    return (lambda function: function) if isinstance(maxsize, int) or maxsize is None else maxsize
