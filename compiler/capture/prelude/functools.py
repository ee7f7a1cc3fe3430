class partial:
    def __init__(self, func, /, *args, **keywords):
        if isinstance(func, partial):
            func, args, keywords = func.func, (*func.args, *args), {**func.keywords, **keywords}
        self.func, self.args, self.keywords = func, args, keywords

    def __call__(self, /, *args, **keywords):
        return self.func(*self.args, *args, **{**self.keywords, **keywords})


class partialmethod(partial):
    def __get__(self, instance, owner):
        return partial(self.func, instance, *self.args, **self.keywords)


def total_ordering(cls):
    """Of == and one of the four others, all."""
    has = cls.__dict__
    if '__lt__' in has:
        less = cls.__lt__
    elif '__le__' in has:
        less = lambda a, b, le=cls.__le__: le(a, b) and not a == b
    elif '__gt__' in has:
        less = lambda a, b, gt=cls.__gt__: not gt(a, b) and not a == b
    else:
        less = lambda a, b, ge=cls.__ge__: not ge(a, b)
    cls.__lt__, cls.__ge__ = less, lambda a, b: not less(a, b)
    cls.__le__, cls.__gt__ = lambda a, b: less(a, b) or a == b, lambda a, b: not (less(a, b) or a == b)
    return cls


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
