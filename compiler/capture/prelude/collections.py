"""collections: a deque is an object with a list."""


class _Named(tuple):
    def __new__(cls, *args, **kwargs):
        names, defaults, typename = cls._fields, cls._field_defaults, cls.__name__
        if len(args) > len(names):
            raise TypeError(f'{typename}.__new__() takes {len(names) + 1} positional arguments but {len(args) + 1} were given')
        given = {**defaults, **dict(zip(names, args)), **kwargs}
        for name in given:
            if name not in names:
                raise TypeError(f"{typename}.__new__() got an unexpected keyword argument '{name}'")
        for name in names:
            if name not in given:
                raise TypeError(f"{typename}.__new__() missing 1 required positional argument: '{name}'")
        self = super().__new__(cls, [given[name] for name in names])
        for name in names:
            object.__setattr__(self, name, given[name])
        return self

    def __setattr__(self, name, value):
        raise AttributeError("can't set attribute" if name in self._fields else
                             f"'{type(self).__name__}' object has no attribute '{name}'")

    def __repr__(self):
        return f"{type(self).__name__}({', '.join([f'{name}={getattr(self, name)!r}' for name in self._fields])})"

    @classmethod
    def _make(cls, iterable):
        return cls(*iterable)

    def _asdict(self):
        return dict(zip(self._fields, self))

    def _replace(self, **changes):
        return type(self)(**{**self._asdict(), **changes})


def namedtuple(typename, field_names, *, rename=False, defaults=None, module=None):
    names = field_names.replace(',', ' ').split() if isinstance(field_names, str) else list(field_names)
    values = list(defaults or ())
    known = dict(zip(names[len(names) - len(values):], values))

    class Named(_Named):
        _fields, _field_defaults = tuple(names), known
    Named.__name__ = typename
    return Named


class NamedTuple(_Named):
    """A class derived from this has a field for each annotated name."""

    def __init_subclass__(cls):
        if '_fields' not in cls.__dict__ and '__annotations__' in cls.__dict__:
            cls._fields = tuple(cls.__annotations__)
            cls._field_defaults = {name: cls.__dict__[name] for name in cls._fields if name in cls.__dict__}


class defaultdict(dict):
    def __init__(self, default_factory=None, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.default_factory = default_factory

    def __missing__(self, key):
        if self.default_factory is None:
            raise KeyError(key)
        self[key] = self.default_factory()
        return self[key]

    def __repr__(self):
        return f'{type(self).__name__}({self.default_factory!r}, {super().__repr__()})'

    def copy(self):
        return type(self)(self.default_factory, self)


class Counter(dict):
    def __init__(self, items=(), **named):
        super().__init__()
        self.update(items)
        self.update(named)

    def __missing__(self, key):
        return 0

    def update(self, items=(), **named):
        """Counts add up: of what has them, or of items one by one."""
        for key, n in items.items() if hasattr(items, 'items') else [(item, 1) for item in items]:
            self[key] = self[key] + n
        for key in named:
            self[key] = self[key] + named[key]

    def subtract(self, items=()):
        for key, n in items.items() if hasattr(items, 'items') else [(item, 1) for item in items]:
            self[key] = self[key] - n

    def __add__(self, other):
        total = Counter(self)
        total.update(other)
        return Counter({key: n for key, n in total.items() if n > 0})

    def __sub__(self, other):
        return Counter({key: n - other[key] for key, n in self.items() if n > other[key]})

    def __and__(self, other):
        return Counter({key: min(n, other[key]) for key, n in self.items() if min(n, other[key]) > 0})

    def __or__(self, other):
        most = {key: max(self[key], other[key]) for key in {**self, **other}}
        return Counter({key: n for key, n in most.items() if n > 0})

    def __repr__(self):
        return f'Counter({dict(self.most_common())!r})' if self else 'Counter()'

    def copy(self):
        return Counter(self)

    def total(self):
        return sum(self.values())

    def elements(self):
        return iter([key for key, n in self.items() for _ in range(n)])

    def most_common(self, n=None):
        return sorted(self.items(), key=lambda pair: pair[1], reverse=True)[:n]


class OrderedDict(dict):
    def __repr__(self):
        return f'{type(self).__name__}({list(self.items())!r})' if self else f'{type(self).__name__}()'

    def move_to_end(self, key, last=True):
        rest = [(key, self.pop(key))]
        if not last:
            rest += list(self.items())
            self.clear()
        self.update(rest)

    def popitem(self, last=True):
        if last or not self:
            return super().popitem()
        key = list(self)[0]
        return key, self.pop(key)

    def copy(self):
        return type(self)(self)


class deque:
    def __init__(self, items=(), maxlen=None):
        self._ws_items, self.maxlen = [], maxlen
        self.extend(items)

    def append(self, item):
        self._ws_items.append(item)
        if self.maxlen is not None and len(self._ws_items) > self.maxlen:
            self._ws_items.pop(0)

    def appendleft(self, item):
        self._ws_items.insert(0, item)
        if self.maxlen is not None and len(self._ws_items) > self.maxlen:
            self._ws_items.pop()

    def extend(self, items):
        for item in items:
            self.append(item)

    def pop(self):
        return self._ws_items.pop()

    def popleft(self):
        return self._ws_items.pop(0)

    def __getitem__(self, i):
        return self._ws_items[i]

    def __len__(self):
        return len(self._ws_items)

    def __iter__(self):
        return iter(self._ws_items)

    def extendleft(self, items):
        for item in items:
            self.appendleft(item)

    def rotate(self, n=1):
        if self._ws_items:
            n %= len(self._ws_items)
            self._ws_items[:] = self._ws_items[len(self._ws_items) - n:] + self._ws_items[:len(self._ws_items) - n]

    def clear(self):
        self._ws_items.clear()

    def count(self, item):
        return self._ws_items.count(item)

    def index(self, item, *bounds):
        return self._ws_items.index(item, *bounds)

    def insert(self, i, item):
        if self.maxlen is not None and len(self._ws_items) >= self.maxlen:
            raise IndexError('deque already at its maximum size')
        self._ws_items.insert(i, item)

    def remove(self, item):
        self._ws_items.remove(item)

    def reverse(self):
        self._ws_items.reverse()

    def copy(self):
        return deque(self._ws_items, self.maxlen)

    def __iadd__(self, items):
        self.extend(items)
        return self

    def __add__(self, other):
        return deque(self._ws_items + list(other), self.maxlen)

    def __delitem__(self, i):
        del self._ws_items[i]

    def __setitem__(self, i, value):
        self._ws_items[i] = value

    def __contains__(self, item):
        return item in self._ws_items

    def __reversed__(self):
        return iter(self._ws_items[::-1])

    def __eq__(self, other):
        return isinstance(other, deque) and self._ws_items == other._ws_items

    def __repr__(self):
        bound = '' if self.maxlen is None else f', maxlen={self.maxlen}'
        return f'deque({self._ws_items!r}{bound})'
