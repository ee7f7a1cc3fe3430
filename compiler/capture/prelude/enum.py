"""enum: a member is an object that its class holds under its name; members of an IntEnum count and compare as ints."""
from _warpsmith import bare


class auto:
    pass


class EnumMeta:
    def __iter__(cls):
        return iter(cls._members)

    def __len__(cls):
        return len(cls._members)

    def __contains__(cls, item):
        return any(item is m or item == m._value for m in cls._members)

    def __getitem__(cls, name):
        for member in cls._members:
            if member._name == name:
                return member
        raise KeyError(name)

    def __call__(cls, value):
        for member in cls._members:
            if value is member or member._value == value:
                return member
        raise ValueError(f'{value!r} is not a valid {cls.__name__}')


def _is_member(name, value):
    return not (name[0] == '_' or callable(value) or isinstance(value, (property, classmethod, staticmethod)))


class Enum(metaclass=EnumMeta):
    def __init_subclass__(cls, **options):
        cls._members = []
        for name, value in list(cls.__dict__.items()):
            if not _is_member(name, value):
                continue
            if isinstance(value, auto):
                value = cls._next(name)
            same = [m for m in cls._members if m._value == value]
            if same:
                setattr(cls, name, same[0])
                continue
            member = bare(cls)
            member._name, member._value = name, value
            setattr(cls, name, member)
            cls._members.append(member)

    @classmethod
    def _next(cls, name):
        return max([m._value for m in cls._members], default=0) + 1

    name = property(lambda self: self._name)
    value = property(lambda self: self._value)

    def __repr__(self):
        return f'<{type(self).__name__}.{self._name}: {self._value!r}>'

    def __str__(self):
        return f'{type(self).__name__}.{self._name}'


class IntEnum(Enum):
    def __index__(self):
        return self._value

    def __int__(self):
        return self._value

    def __str__(self):
        return str(self._value)

    def __eq__(self, other):
        return self._value == (other._value if isinstance(other, IntEnum) else other)

    def __lt__(self, other):
        return self._value < int(other)

    def __le__(self, other):
        return self._value <= int(other)

    def __gt__(self, other):
        return self._value > int(other)

    def __ge__(self, other):
        return self._value >= int(other)

    def __add__(self, other):
        return self._value + other

    def __sub__(self, other):
        return self._value - other

    def __mul__(self, other):
        return self._value * other
    __radd__, __rmul__ = __add__, __mul__


class StrEnum(Enum):
    @classmethod
    def _next(cls, name):
        return name.lower()

    def __eq__(self, other):
        return self._value == (other._value if isinstance(other, StrEnum) else other)

    def __str__(self):
        return self._value


def unique(cls):
    return cls
