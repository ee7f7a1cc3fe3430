"""collections: named tuples are objects that iterate; a deque is a list."""
OrderedDict = dict
_missing = object()


class _Named:
    def _values(self):
        return [getattr(self, name) for name in self._fields]

    def __iter__(self):
        return iter(self._values())

    def __getitem__(self, i):
        values = self._values()[i]
        return tuple(values) if isinstance(i, slice) else values

    def __len__(self):
        return len(self._fields)

    def __eq__(self, other):
        return tuple(self) == tuple(other)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join([f'{name}={getattr(self, name)!r}' for name in self._fields])})"

    def _asdict(self):
        return {name: getattr(self, name) for name in self._fields}

    def _replace(self, **changes):
        return type(self)(**{**self._asdict(), **changes})

    def _fill(self, typename, names, defaults, args, kwargs):
        if len(args) > len(names):
            raise TypeError(f'{typename}.__new__() takes {len(names) + 1} positional arguments but {len(args) + 1} were given')
        given = {**defaults, **dict(zip(names, args)), **kwargs}
        for name in given:
            if name not in names:
                raise TypeError(f"{typename}.__new__() got an unexpected keyword argument '{name}'")
        for name in names:
            if name not in given:
                raise TypeError(f"{typename}.__new__() missing 1 required positional argument: '{name}'")
            setattr(self, name, given[name])


def namedtuple(typename, field_names, *, rename=False, defaults=None, module=None):
    names = field_names.replace(',', ' ').split() if isinstance(field_names, str) else list(field_names)
    values = list(defaults or ())
    known = dict(zip(names[len(names) - len(values):], values))

    class Named(_Named):
        _fields = tuple(names)

        def __init__(self, *args, **kwargs):
            self._fill(typename, names, known, args, kwargs)

        def __repr__(self):
            return typename + super().__repr__()[len('Named'):]
    return Named


class NamedTuple(_Named):
    """A class derived from this has a field for each annotated name."""

    def __init__(self, *args, **kwargs):
        cls = type(self)
        names = [name for name in cls.__dict__.get('__annotations__', {})]
        values = {name: getattr(cls, name, _missing) for name in names}
        self._fields = tuple(names)
        self._fill(cls.__name__, names, {name: v for name, v in values.items() if v is not _missing}, args, kwargs)


class defaultdict:
    def __init__(self, default_factory=None, items=()):
        self.default_factory, self._items = default_factory, dict(items)

    def __getitem__(self, key):
        if key not in self._items:
            if self.default_factory is None:
                raise KeyError(key)
            self._items[key] = self.default_factory()
        return self._items[key]

    def __setitem__(self, key, value):
        self._items[key] = value

    def __contains__(self, key):
        return key in self._items

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __delitem__(self, key):
        del self._items[key]

    def __eq__(self, other):
        return self._items == (other._items if isinstance(other, defaultdict) else other)

    def __repr__(self):
        return f'{type(self).__name__}({self.default_factory!r}, {self._items!r})'

    def get(self, key, default=None):
        return self._items.get(key, default)

    def keys(self):
        return self._items.keys()

    def values(self):
        return self._items.values()

    def items(self):
        return self._items.items()

    def pop(self, key, *default):
        return self._items.pop(key, *default)

    def setdefault(self, key, default=None):
        return self._items.setdefault(key, default)

    def update(self, *others, **named):
        for other in others:
            for key, value in other.items() if hasattr(other, 'items') else other:
                self[key] = value
        for key, value in named.items():
            self[key] = value

    def clear(self):
        self._items.clear()

    def copy(self):
        return type(self)(self.default_factory, self._items)


class Counter(defaultdict):
    def __init__(self, items=(), **named):
        super().__init__(int)
        self.update(items)
        self.update(named)

    def update(self, items=()):
        """Counts add up: of what has them, or of items one by one."""
        for key, n in items.items() if hasattr(items, 'items') else [(item, 1) for item in items]:
            self._items[key] = self[key] + n

    def subtract(self, items=()):
        for key, n in items.items() if hasattr(items, 'items') else [(item, 1) for item in items]:
            self._items[key] = self[key] - n

    def __add__(self, other):
        total = Counter(self)
        total.update(other)
        return Counter({key: n for key, n in total.items() if n > 0})

    def __sub__(self, other):
        return Counter({key: n - other[key] for key, n in self.items() if n > other[key]})

    def __repr__(self):
        return f'Counter({dict(self.most_common())!r})' if self._items else 'Counter()'

    def copy(self):
        return Counter(self)

    def total(self):
        return sum(self.values())

    def elements(self):
        return iter([key for key, n in self.items() for _ in range(n)])

    def __getitem__(self, key):
        return self._items.get(key, 0)

    def most_common(self, n=None):
        return sorted(self._items.items(), key=lambda pair: pair[1], reverse=True)[:n]


class deque:
    def __init__(self, items=(), maxlen=None):
        self._items, self.maxlen = [], maxlen
        self.extend(items)

    def append(self, item):
        self._items.append(item)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            self._items.pop(0)

    def appendleft(self, item):
        self._items.insert(0, item)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            self._items.pop()

    def extend(self, items):
        for item in items:
            self.append(item)

    def pop(self):
        return self._items.pop()

    def popleft(self):
        return self._items.pop(0)

    def __getitem__(self, i):
        return self._items[i]

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def extendleft(self, items):
        for item in items:
            self.appendleft(item)

    def rotate(self, n=1):
        if self._items:
            n %= len(self._items)
            self._items[:] = self._items[len(self._items) - n:] + self._items[:len(self._items) - n]

    def clear(self):
        self._items.clear()

    def __setitem__(self, i, value):
        self._items[i] = value

    def __contains__(self, item):
        return item in self._items

    def __reversed__(self):
        return iter(self._items[::-1])

    def __eq__(self, other):
        return isinstance(other, deque) and self._items == other._items

    def __repr__(self):
        bound = '' if self.maxlen is None else f', maxlen={self.maxlen}'
        return f'deque({self._items!r}{bound})'
