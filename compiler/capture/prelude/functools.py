def partial(function, *args, **kwargs):
    return lambda *more, **named: function(*args, *more, **{**kwargs, **named})


def update_wrapper(wrapper, wrapped):
    for name in ('__module__', '__name__', '__qualname__', '__doc__'):
        if hasattr(wrapped, name):
            setattr(wrapper, name, getattr(wrapped, name))
    wrapper.__wrapped__ = wrapped
    return wrapper


def wraps(wrapped, **options):
    return lambda wrapper: update_wrapper(wrapper, wrapped)


def reduce(function, items, *start):
    items = iter(items)
    total = start[0] if start else next(items)
    for item in items:
        total = function(total, item)
    return total


class cached_property:
    """Computed at its first reading; then an attribute of the object, found before this."""

    def __init__(self, function):
        self.function = function

    def __get__(self, instance, owner):
        value = self.function(instance)
        setattr(instance, self.function.__name__, value)
        return value


def cache(function):
    return function


def lru_cache(maxsize=128, typed=False):
    return (lambda function: function) if isinstance(maxsize, int) or maxsize is None else maxsize
