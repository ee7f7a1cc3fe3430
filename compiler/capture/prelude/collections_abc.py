"""collections.abc: what isinstance() asks, and, of containers, what a class gets for what it defines itself."""
from typing import __getattr__ as _type


class _Asked:
    """Metaclass: isinstance() is that of typing's class of the name, and true of what is derived from this."""

    def __instancecheck__(cls, value):
        return cls._own and isinstance(value, _type(cls.__name__))

    def __subclasscheck__(cls, other):
        return cls._own and issubclass(other, _BUILT_IN[cls.__name__])

    def __getitem__(cls, item):
        return cls


_BUILT_IN = {'Mapping': dict, 'MutableMapping': dict, 'Sequence': (list, tuple, str, range), 'MutableSequence': list}


class Mapping(metaclass=_Asked):
    _own = True

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls._own = cls.__module__ == __name__

    def get(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key):
        try:
            self[key]
        except KeyError:
            return False
        return True

    def keys(self):
        return list(iter(self))

    def values(self):
        return [self[key] for key in self]

    def items(self):
        return [(key, self[key]) for key in self]

    def __eq__(self, other):
        return dict(self.items()) == dict(other.items()) if isinstance(other, (dict, Mapping)) else NotImplemented


class MutableMapping(Mapping):
    def pop(self, key, *default):
        try:
            value = self[key]
        except KeyError:
            if default:
                return default[0]
            raise
        del self[key]
        return value

    def popitem(self):
        for key in self:
            return key, self.pop(key)
        raise KeyError

    def clear(self):
        for key in list(iter(self)):
            del self[key]

    def update(self, other=(), /, **named):
        for key, value in dict(other, **named).items():
            self[key] = value

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]


class Sequence(metaclass=_Asked):
    _own = True

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls._own = cls.__module__ == __name__

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __reversed__(self):
        return iter([self[i] for i in range(len(self) - 1, -1, -1)])

    def __contains__(self, value):
        return any([value is item or value == item for item in self])

    def index(self, value, start=0, stop=None):
        for i in range(len(self))[start:stop]:
            if self[i] is value or self[i] == value:
                return i
        raise ValueError

    def count(self, value):
        return sum([value is item or value == item for item in self])


class MutableSequence(Sequence):
    def append(self, value):
        self.insert(len(self), value)

    def extend(self, values):
        for value in list(values):
            self.append(value)

    def pop(self, index=-1):
        value = self[index]
        del self[index]
        return value

    def remove(self, value):
        del self[self.index(value)]

    def clear(self):
        while len(self):
            self.pop()

    def reverse(self):
        n = len(self)
        for i in range(n // 2):
            self[i], self[n - i - 1] = self[n - i - 1], self[i]

    def __iadd__(self, values):
        self.extend(values)
        return self


def __getattr__(name):
    return _type(name)
