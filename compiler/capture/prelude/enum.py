"""enum: a member is an object that its class holds under its name; of class A(str, Enum) it is a str, too."""
from _warpsmith import bare


class auto:
    pass


class EnumMeta:
    def __iter__(cls):
        return iter(cls._members)

    def __len__(cls):
        return len(cls._members)

    def __contains__(cls, item):
        return any(item is m or item == m._value_ for m in cls._members)

    def __getitem__(cls, name):
        if name in cls.__members__:
            return cls.__members__[name]
        raise KeyError(name)

    def __call__(cls, value):
        for member in cls._members:
            if value is member or member._value_ == value:
                return member
        found = cls._missing_(value)
        if found is None:
            raise ValueError(f'{value!r} is not a valid {cls.__name__}')
        return found


def _is_member(name, value):
    return not (name[0] == '_' or callable(value) or isinstance(value, (property, classmethod, staticmethod)))


class Enum(metaclass=EnumMeta):
    def __init_subclass__(cls, **options):
        cls._members, cls.__members__ = [], {}
        for name, value in list(cls.__dict__.items()):
            if _is_member(name, value):
                setattr(cls, name, cls._made(name, value))

    @classmethod
    def _made(cls, name, value):
        """The member of that name: one made before, if it has the same value."""
        if isinstance(value, auto):
            value = cls._generate_next_value_(name, 1, len(cls._members), [m._value_ for m in cls._members])
        for member in cls._members:
            if member._value_ == value:
                cls.__members__[name] = member
                return member
        member = bare(cls, value)
        member._name_, member._value_ = name, value
        if hasattr(cls, '__init__') and cls.__init__ is not Enum.__init__:
            member.__init__(*value) if isinstance(value, tuple) else member.__init__(value)
        cls._members.append(member)
        cls.__members__[name] = member
        return member

    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        return max(last_values, default=start - 1) + 1

    @classmethod
    def _missing_(cls, value):
        return None

    def __init__(self, *values):
        pass

    name = property(lambda self: self._name_)
    value = property(lambda self: self._value_)

    def __repr__(self):
        return f'<{type(self).__name__}.{self._name_}: {self._value_!r}>'

    def __str__(self):
        return f'{type(self).__name__}.{self._name_}'

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class _Plain(Enum):
    """Its members look like their values."""

    def __str__(self):
        return str(self._value_)

    def __format__(self, spec):
        return format(self._value_, spec)


class IntEnum(int, _Plain):
    pass


class StrEnum(str, _Plain):
    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        return name.lower()


def unique(cls):
    for name, member in cls.__members__.items():
        if member._name_ != name:
            raise ValueError(f'duplicate values found in {cls!r}: {name} -> {member._name_}')
    return cls
