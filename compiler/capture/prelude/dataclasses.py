"""dataclasses: __init__, __repr__ and __eq__ from the annotated names of a class."""
_missing = object()


class Field:
    def __init__(self, default, default_factory, init):
        self.default, self.default_factory, self.init = default, default_factory, init


def field(*, default=_missing, default_factory=_missing, init=True, repr=True, compare=True):
    return Field(default, default_factory, init)


def _fields(cls):
    found = {}
    for base in reversed(cls.__mro__):
        for name in getattr(base, '__dict__', {}).get('__annotations__', {}):
            found[name] = getattr(cls, name, _missing)
    return found


def _value(name, given, default):
    if given is not _missing:
        return given
    if isinstance(default, Field):
        if default.default_factory is not _missing:
            return default.default_factory()
        default = default.default
    if default is _missing:
        raise TypeError(f"__init__() missing required argument: '{name}'")
    return default


def _make(cls, order):
    fields = _fields(cls)

    def __init__(self, *args, **kwargs):
        if len(args) > len(fields):
            raise TypeError(f'__init__() takes {len(fields) + 1} positional arguments but {len(args) + 1} were given')
        given = dict(zip(fields, args))
        for name in kwargs:
            if name not in fields or name in given:
                raise TypeError(f"__init__() got an unexpected keyword argument '{name}'")
            given[name] = kwargs[name]
        for name, default in fields.items():
            setattr(self, name, _value(name, given.get(name, _missing), default))
        if hasattr(self, '__post_init__'):
            self.__post_init__()

    def __repr__(self):
        return f"{type(self).__name__}({', '.join([f'{name}={getattr(self, name)!r}' for name in fields])})"

    def __eq__(self, other):
        return type(self) is type(other) and astuple(self) == astuple(other)

    def values(self, other):
        return tuple([getattr(self, name) for name in fields]), tuple([getattr(other, name) for name in fields])

    def __lt__(self, other):
        a, b = values(self, other)
        return a < b

    def __le__(self, other):
        a, b = values(self, other)
        return a <= b

    def __gt__(self, other):
        a, b = values(self, other)
        return a > b

    def __ge__(self, other):
        a, b = values(self, other)
        return a >= b

    methods = [('__init__', __init__), ('__repr__', __repr__), ('__eq__', __eq__)]
    if order:
        methods += [('__lt__', __lt__), ('__le__', __le__), ('__gt__', __gt__), ('__ge__', __ge__)]
    for name, method in methods:
        if name not in cls.__dict__:
            setattr(cls, name, method)
    cls.__dataclass_fields__ = fields
    return cls


def dataclass(cls=None, *, frozen=False, eq=True, order=False, repr=True, slots=False, kw_only=False):
    return (lambda c: _make(c, order)) if cls is None else _make(cls, order)


def fields(x):
    return tuple([_Named(name) for name in x.__dataclass_fields__])


class _Named:
    def __init__(self, name):
        self.name = name


def is_dataclass(x):
    return hasattr(x, '__dataclass_fields__')


def _plain(x):
    if is_dataclass(x):
        return asdict(x)
    if isinstance(x, (list, tuple)):
        return type(x)([_plain(item) for item in x])
    return {key: _plain(value) for key, value in x.items()} if isinstance(x, dict) else x


def asdict(x):
    return {name: _plain(getattr(x, name)) for name in x.__dataclass_fields__}


def astuple(x):
    return tuple([getattr(x, name) for name in x.__dataclass_fields__])


def replace(x, **changes):
    return type(x)(**{**{name: getattr(x, name) for name in x.__dataclass_fields__}, **changes})
