"""enum: a member is an object that its class holds under its name; of class A(str, Enum) it is a str, too."""
from _warpsmith import bare


class auto:
    """A value that is known when the class is made; so is what its body makes of several: RW = R | W."""

    def __init__(self, made=None):
        self.made, self.value = made, None

    def _known(self, following):
        if self.value is None:
            self.value = self.made(following) if self.made else following()
        return self.value

    def _with(self, other, combine):
        of = lambda x, following: x._known(following) if isinstance(x, auto) else x
        return auto(lambda following: combine(self._known(following), of(other, following)))

    def __or__(self, other):
        return self._with(other, lambda a, b: a | b)

    def __and__(self, other):
        return self._with(other, lambda a, b: a & b)

    def __xor__(self, other):
        return self._with(other, lambda a, b: a ^ b)

    def __invert__(self):
        return auto(lambda following: ~self._known(following))

    __ror__ = __or__


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


class member:
    """What it is given is a member's value, even a function."""

    def __init__(self, value):
        self.value = value


class nonmember(member):
    """What it is given is an attribute as any other."""


_methods = (type, type(lambda: None), property, classmethod, staticmethod)


EnumType = EnumMeta


def _is_member(name, value):
    return type(value) is member or not (name[0] == '_' or isinstance(value, _methods + (nonmember,)))


class Enum(metaclass=EnumMeta):
    def __init_subclass__(cls, **options):
        cls._members, cls.__members__ = [], {}
        for name, value in list(cls.__dict__.items()):
            if _is_member(name, value):
                setattr(cls, name, cls._made(name, value.value if type(value) is member else value))
            elif isinstance(value, nonmember):
                setattr(cls, name, value.value)

    @classmethod
    def _made(cls, name, value):
        """The member of that name: one made before, if it has the same value."""
        if isinstance(value, auto):
            last = [m._value_ for m in cls.__members__.values()]
            value = value._known(lambda: cls._generate_next_value_(name, 1, len(last), last))
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


class Flag(Enum):
    """Its members are sets of bits: those that the class names, and, made when they are met, all others of these bits."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls._every, cls._met = 0, {}
        for member in cls._members:
            cls._every |= member._value_
        # A name of several bits, or of none, is another name of what its bits are.
        cls._members = [m for m in cls._members if m._value_ > 0 and m._value_ & (m._value_ - 1) == 0]

    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        return 2 ** max(last_values).bit_length() if last_values else start

    @classmethod
    def _missing_(cls, value):
        for member in cls.__members__.values():
            if member._value_ == value:
                return member
        if not isinstance(value, int):
            return None
        if value < 0:
            value = cls._beyond() + value if cls._keeps else cls._every & value
            return cls(value)
        if value & ~cls._every and not cls._keeps:
            return None
        if value not in cls._met:
            member = bare(cls, value)
            names = [m._name_ for m in cls._members if m._value_ & value]
            rest = value & ~cls._every
            member._name_ = '|'.join(names + [str(rest)] * (rest != 0)) if names else None
            member._value_ = value
            cls._met[value] = member
        return cls._met[value]

    @classmethod
    def _beyond(cls):
        return 2 ** cls._every.bit_length()

    _keeps = False  # bits that no member has

    def _bits(self, other):
        if isinstance(other, type(self)):
            return other._value_
        return int(other) if self._keeps and isinstance(other, int) else None

    def _combined(self, other, combine):
        bits = self._bits(other)
        return NotImplemented if bits is None else type(self)(combine(self._value_, bits))

    def __or__(self, other):
        return self._combined(other, lambda a, b: a | b)

    def __and__(self, other):
        return self._combined(other, lambda a, b: a & b)

    def __xor__(self, other):
        return self._combined(other, lambda a, b: a ^ b)

    __ror__, __rand__, __rxor__ = __or__, __and__, __xor__

    def __invert__(self):
        return type(self)(~self._value_)

    def __contains__(self, other):
        if not isinstance(other, type(self)):
            raise TypeError(f"unsupported operand type(s) for 'in': {type(other).__name__!r} and {type(self).__name__!r}")
        return other._value_ & self._value_ == other._value_

    def __iter__(self):
        return iter([m for m in type(self)._members if m._value_ & self._value_])

    def __len__(self):
        return len(list(iter(self)))

    def __bool__(self):
        return self._value_ != 0

    def __repr__(self):
        name = '' if self._name_ is None else f'.{self._name_}'
        return f'<{type(self).__name__}{name}: {self._value_!r}>'

    def __str__(self):
        return f'{type(self).__name__}({self._value_})' if self._name_ is None else f'{type(self).__name__}.{self._name_}'


class IntFlag(int, Flag):
    _keeps = True

    def __str__(self):
        return str(self._value_)

    def __format__(self, spec):
        return format(self._value_, spec)


def unique(cls):
    for name, member in cls.__members__.items():
        if member._name_ != name:
            raise ValueError(f'duplicate values found in {cls!r}: {name} -> {member._name_}')
    return cls
