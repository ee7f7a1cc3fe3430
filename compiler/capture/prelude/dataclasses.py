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


def _make(cls, frozen):
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

    for name, method in [('__init__', __init__), ('__repr__', __repr__), ('__eq__', __eq__)]:
        if name not in cls.__dict__:
            setattr(cls, name, method)
    cls.__dataclass_fields__ = fields
    return cls


def dataclass(cls=None, *, frozen=False, eq=True, order=False, repr=True, slots=False, kw_only=False):
    return (lambda c: _make(c, frozen)) if cls is None else _make(cls, frozen)


def fields(x):
    return tuple([_Named(name) for name in x.__dataclass_fields__])


class _Named:
    def __init__(self, name):
        self.name = name


def asdict(x):
    return {name: getattr(x, name) for name in x.__dataclass_fields__}


def astuple(x):
    return tuple([getattr(x, name) for name in x.__dataclass_fields__])


def replace(x, **changes):
    return type(x)(**{**asdict(x), **changes})
