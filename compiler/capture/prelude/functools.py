from _warpsmith import is_compiling as _is_compiling


class partial:
    def __init__(self, func, /, *args, **keywords):
        if isinstance(func, partial):
            func, args, keywords = func.func, (*func.args, *args), {**func.keywords, **keywords}
        self.func, self.args, self.keywords = func, args, keywords

    def __call__(self, /, *args, **keywords):
        return self.func(*self.args, *args, **{**self.keywords, **keywords})


class partialmethod(partial):
    def __get__(self, instance, owner):
        if instance is None:
            return self
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


class _Property:
    """property, for classes that are derived from it."""

    def __init__(self, fget=None, fset=None, fdel=None, doc=None):
        self.fget, self.fset, self.fdel = fget, fset, fdel
        self.__doc__ = fget.__doc__ if doc is None and fget is not None else doc

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        if self.fget is None:
            raise AttributeError('property of ' + type(instance).__name__ + ' object has no getter')
        return self.fget(instance)

    def __set__(self, instance, value):
        if self.fset is None:
            raise AttributeError('property of ' + type(instance).__name__ + ' object has no setter')
        self.fset(instance, value)

    def getter(self, fget):
        return type(self)(fget, self.fset, self.fdel, self.__doc__)

    def setter(self, fset):
        return type(self)(self.fget, fset, self.fdel, self.__doc__)

    def deleter(self, fdel):
        return type(self)(self.fget, self.fset, fdel, self.__doc__)


class _Module:
    """types.ModuleType, the same."""

    def __init__(self, name, doc=None):
        self.__name__, self.__doc__ = name, doc


class cached_property:
    """Computed at its first reading; then an attribute of the object, found before this."""

    def __init__(self, function):
        self.function = function

    def __get__(self, instance, owner):
        if instance is None:
            return self
        value = self.function(instance)
        setattr(instance, self.function.__name__, value)
        return value


def lru_cache(maxsize=128, typed=False):
    """Results are kept where Python runs for itself: what is compiled is traced each time, as by torch.compile."""
    if callable(maxsize):
        return lru_cache()(maxsize)

    def kept(function):
        found, counts = {}, {'hits': 0, 'misses': 0}

        @wraps(function)
        def cached(*args, **kwargs):
            if _is_compiling():
                return function(*args, **kwargs)
            key = (args, tuple(kwargs.items()))
            if typed:
                key += (tuple([type(x) for x in args]), tuple([type(x) for x in kwargs.values()]))
            if key in found:
                counts['hits'] += 1
                found[key] = value = found.pop(key)
                return value
            counts['misses'] += 1
            value = function(*args, **kwargs)
            if maxsize != 0:
                found[key] = value
            if maxsize is not None and len(found) > maxsize > 0:
                del found[next(iter(found))]
            return value

        def cache_clear():
            found.clear()
            counts.update(hits=0, misses=0)

        cached.cache_info = lambda: _CacheInfo(counts['hits'], counts['misses'], maxsize, len(found))
        cached.cache_clear = cache_clear
        cached.cache_parameters = lambda: {'maxsize': maxsize, 'typed': typed}
        return cached
    return kept


def singledispatch(function):
    """The function that is registered for the class of the first argument, or for the nearest of its bases."""
    registered = {}

    def dispatch(cls):
        for base in (bool, int) if cls is bool else cls.__mro__:
            if base in registered:
                return registered[base]
        return function

    @wraps(function)
    def choose(*args, **kwargs):
        return dispatch(type(args[0]))(*args, **kwargs)

    def register(cls, implementation=None):
        if not isinstance(cls, type):
            raise NotImplementedError('singledispatch: register() by an annotation is not supported; register(int) names the class')
        if implementation is None:
            return lambda implementation: register(cls, implementation)
        registered[cls] = implementation
        return implementation

    choose.dispatch, choose.register, choose.registry = dispatch, register, registered
    return choose


def cache(function):
    return lru_cache(None)(function)


class _CacheInfo:
    def __init__(self, hits, misses, maxsize, currsize):
        self.hits, self.misses, self.maxsize, self.currsize = hits, misses, maxsize, currsize

    def __repr__(self):
        return f'CacheInfo(hits={self.hits}, misses={self.misses}, maxsize={self.maxsize}, currsize={self.currsize})'
