"""dataclasses: methods from the annotated names of a class."""
MISSING = object()


class KW_ONLY:
    """_: KW_ONLY: what follows is named in a call."""


class InitVar:
    """x: InitVar[int]: an argument that __post_init__ gets, and no attribute."""

    def __class_getitem__(cls, item):
        return cls


class FrozenInstanceError(AttributeError):
    pass


class Field:
    def __init__(self, default=MISSING, default_factory=MISSING, init=True, repr=True, compare=True, kw_only=False, metadata=None):
        self.default, self.default_factory, self.init = default, default_factory, init
        self.repr, self.compare, self.kw_only, self.metadata = repr, compare, kw_only, metadata or {}
        self.name = self.type = None
        self.is_argument = False  # an InitVar

    def _is_required(self):
        return self.default is MISSING and self.default_factory is MISSING

    def _value(self):
        return self.default if self.default_factory is MISSING else self.default_factory()


def field(*, default=MISSING, default_factory=MISSING, init=True, repr=True, hash=None, compare=True, metadata=None, kw_only=False):
    if default is not MISSING and default_factory is not MISSING:
        raise ValueError('cannot specify both default and default_factory')
    return Field(default, default_factory, init, repr, compare, kw_only, metadata)


def _kind(annotation):
    """'InitVar' of dataclasses.InitVar[int]. Annotations are texts."""
    return annotation.strip('\'"').split('[')[0].split('.')[-1].strip()


def _own_fields(cls, kw_only):
    found = {}
    for name, annotation in cls.__dict__.get('__annotations__', {}).items():
        kind = _kind(annotation)
        kw_only = kw_only or kind == 'KW_ONLY'
        if kind in ('ClassVar', 'KW_ONLY'):
            continue
        given = cls.__dict__.get(name, MISSING)
        f = given if isinstance(given, Field) else Field(given, kw_only=kw_only)
        f.name, f.type, f.kw_only = name, annotation, f.kw_only or kw_only
        f.is_argument = kind == 'InitVar'
        if isinstance(f.default, (list, dict, set)):
            raise ValueError(f'mutable default {type(f.default)} for field {name} is not allowed: use default_factory')
        if isinstance(given, Field):
            if f.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, f.default)
        found[name] = f
    return found


def _all_fields(cls, kw_only):
    found = {}
    for base in reversed(cls.__mro__[1:]):
        found.update(base.__dict__.get('__dataclass_fields__', {}))
    found.update(_own_fields(cls, kw_only))
    optional = None
    for f in found.values():
        if f.init and not f.kw_only and f._is_required() and optional:
            raise TypeError(f"non-default argument '{f.name}' follows default argument")
        if f.init and not f.kw_only and not f._is_required():
            optional = f.name
    return found


def _quoted(names):
    names = [f"'{name}'" for name in names]
    if len(names) < 3:
        return ' and '.join(names)
    return ', '.join(names[:-1]) + ', and ' + names[-1]


def _make_init(cls, fields):
    positional = [f.name for f in fields.values() if f.init and not f.kw_only]
    taken = {f.name for f in fields.values() if f.init}
    needed = [f.name for f in fields.values() if f.init and f._is_required()]
    arguments = [f for f in fields.values() if f.is_argument]
    where = f'{cls.__name__}.__init__()'

    def __init__(self, *args, **kwargs):
        if len(args) > len(positional):
            least = len([name for name in needed if name in positional]) + 1
            most = len(positional) + 1
            takes = f'from {least} to {most} positional arguments' if least < most else f'{most} positional argument' + 's' * (most > 1)
            raise TypeError(f'{where} takes {takes} but {len(args) + 1} were given')
        given = dict(zip(positional, args))
        for name in kwargs:
            if name not in taken:
                raise TypeError(f"{where} got an unexpected keyword argument '{name}'")
            if name in given:
                raise TypeError(f"{where} got multiple values for argument '{name}'")
            given[name] = kwargs[name]
        missing = [name for name in needed if name not in given and name in positional]
        kind = 'positional'
        if not missing:
            missing, kind = [name for name in needed if name not in given], 'keyword-only'
        if missing:
            raise TypeError(f"{where} missing {len(missing)} required {kind} argument{'s' * (len(missing) > 1)}: {_quoted(missing)}")
        for name, f in fields.items():
            if f.is_argument:
                continue
            if name in given:
                object.__setattr__(self, name, given[name])
            elif not f._is_required():
                object.__setattr__(self, name, f._value())
        if hasattr(self, '__post_init__'):
            self.__post_init__(*[given[f.name] if f.name in given else f._value() for f in arguments])
    return __init__


def _make_frozen(cls, fields):
    def __setattr__(self, name, value):
        if type(self) is cls or name in fields:
            raise FrozenInstanceError(f"cannot assign to field '{name}'")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self, name):
        raise FrozenInstanceError(f"cannot delete field '{name}'")
    return [('__setattr__', __setattr__), ('__delattr__', __delattr__)]


def _make_order(values):
    def __lt__(self, other):
        return values(self) < values(other) if type(self) is type(other) else NotImplemented

    def __le__(self, other):
        return values(self) <= values(other) if type(self) is type(other) else NotImplemented

    def __gt__(self, other):
        return values(self) > values(other) if type(self) is type(other) else NotImplemented

    def __ge__(self, other):
        return values(self) >= values(other) if type(self) is type(other) else NotImplemented
    return [('__lt__', __lt__), ('__le__', __le__), ('__gt__', __gt__), ('__ge__', __ge__)]


def _make(cls, init, repr, eq, order, frozen, kw_only):
    fields = _all_fields(cls, kw_only)
    kept = [f for f in fields.values() if not f.is_argument]
    shown, compared = [f.name for f in kept if f.repr], [f.name for f in kept if f.compare]

    def __repr__(self):
        return f"{type(self).__name__}({', '.join([f'{name}={getattr(self, name)!r}' for name in shown])})"

    def values(self):
        return tuple([getattr(self, name) for name in compared])

    def __eq__(self, other):
        return values(self) == values(other) if type(self) is type(other) else NotImplemented

    def __hash__(self):
        return hash(values(self))

    methods = [('__init__', _make_init(cls, fields))] * init + [('__repr__', __repr__)] * repr + [('__eq__', __eq__)] * eq
    if order:
        methods += _make_order(values)
    if frozen:
        methods += _make_frozen(cls, fields) + [('__hash__', __hash__)] * eq
    for name, method in methods:
        if name not in cls.__dict__:
            setattr(cls, name, method)
    cls.__dataclass_fields__, cls.__match_args__ = fields, tuple([f.name for f in fields.values() if f.init and not f.kw_only])
    return cls


def dataclass(cls=None, *, init=True, repr=True, eq=True, order=False, unsafe_hash=False, frozen=False, match_args=True,
              kw_only=False, slots=False):
    make = lambda c: _make(c, init, repr, eq, order, frozen, kw_only)
    return make if cls is None else make(cls)


def fields(x):
    return tuple([f for f in x.__dataclass_fields__.values() if not f.is_argument])


def is_dataclass(x):
    return hasattr(x, '__dataclass_fields__')


def _plain(x, whole):
    if is_dataclass(x) and not isinstance(x, type):
        return whole(x)
    if hasattr(x, '_fields') and isinstance(x, tuple):
        return type(x)(*[_plain(item, whole) for item in x])
    if isinstance(x, (list, tuple)):
        return type(x)([_plain(item, whole) for item in x])
    if isinstance(x, dict):
        return type(x)([(_plain(key, whole), _plain(value, whole)) for key, value in x.items()])
    from copy import deepcopy
    return deepcopy(x)


def asdict(x):
    return {f.name: _plain(getattr(x, f.name), asdict) for f in fields(x)}


def astuple(x):
    return tuple([_plain(getattr(x, f.name), astuple) for f in fields(x)])


def replace(x, /, **changes):
    for f in x.__dataclass_fields__.values():
        if f.init and f.name not in changes:
            if f.is_argument and f._is_required():
                raise ValueError(f"InitVar '{f.name}' must be specified with replace()")
            if f.is_argument:
                continue
            changes[f.name] = getattr(x, f.name)
    return type(x)(**changes)
