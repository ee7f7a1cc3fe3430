"""Enumerations, hooks of subclasses, cooperative __init__, generic bases, and more of the standard library."""
from abc import ABC, ABCMeta, abstractmethod
from collections import Counter, defaultdict
from enum import Enum, EnumMeta, EnumType, IntEnum, auto, member, nonmember
from functools import cached_property, partial
from itertools import (chain, combinations, combinations_with_replacement, count, cycle, islice, permutations, starmap,
                       zip_longest)
from typing import Generic, Protocol, TypedDict, TypeVar

T = TypeVar('T')


class Kind(Enum):
    RELU = 'relu'
    GELU = 'gelu'
    SAME = 'relu'

    @property
    def shout(self):
        return self.value.upper()

    @classmethod
    def default(cls):
        return cls.GELU


class Level(IntEnum):
    LOW = 1
    HIGH = auto()


print(Kind.RELU, repr(Kind.RELU), Kind.RELU.value, Kind('gelu').name, Kind['GELU'].shout, Kind.SAME is Kind.RELU)
print(Kind('gelu') is Kind.GELU, Kind.RELU == Kind.GELU, [k.name for k in Kind], len(Kind), Kind.RELU in Kind)
print(Kind.default(), isinstance(Kind.RELU, Kind), {Kind.RELU: 1}[Kind.RELU], Level.HIGH == 2, Level.LOW + 1, Level.HIGH.name)
print([10, 20, 30][Level.HIGH], Level.LOW < Level.HIGH, int(Level.HIGH), 2 * Level.HIGH, Level(1).name)
for wrong in (lambda: Kind('tanh'), lambda: Kind['TANH']):
    try:
        wrong()
    except (ValueError, KeyError) as e:
        print(type(e).__name__, e)


class Base:
    registry = {}

    def __init_subclass__(cls, name=None, **options):
        super().__init_subclass__(**options)
        Base.registry[name or cls.__name__] = cls


class Small(Base, name='small'):
    pass


class Large(Small):
    pass


print(list(Base.registry), Base.registry['small'] is Small)


class Mixin:
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.mixed = True


class Owner:
    def __init__(self, n):
        super().__init__()
        self.n = n


class Both(Mixin, Owner):
    pass


print(Both(3).n, Both(n=4).mixed)


class Abstract(metaclass=ABCMeta):
    @abstractmethod
    def size(self): ...


class Concrete(Abstract, Generic[T]):
    def size(self):
        return 3


class Sized(Protocol):
    def size(self) -> int: ...


class Row(TypedDict, total=False):
    a: int


class Lazy(ABC):
    made = 0

    @cached_property
    def value(self):
        Lazy.made += 1
        return 5


lazy = Lazy()
print(Concrete[int]().size(), Row(a=1), lazy.value + lazy.value, Lazy.made)

print(list(combinations([1, 2, 3], 2)), list(permutations('abc', 2)), list(combinations_with_replacement('ab', 2)))
print(list(islice(count(3, 2), 3)), list(islice(cycle('ab'), 5)), list(islice(range(9), 1, 8, 3)), list(zip(count(), 'ab')))
print(list(zip_longest([1], [2, 3], fillvalue=0)), list(chain.from_iterable([[1], [2, 3]])), list(starmap(pow, [(2, 3)])))
letters = Counter('abracadabra')
letters['z'] += 1
print(letters['a'], letters['q'], letters.most_common(2), len(letters))
grouped = defaultdict(list)
grouped['a'].append(1)
print(dict(grouped), dict(letters)['b'], len({id(lazy), id(lazy), id(letters)}))

class Kernel(Enum):
    twice = member(lambda x: 2 * x)
    part = partial(pow, 2)
    scale = nonmember(3)

    def at(self, x):
        return self.value(x) * self.scale


print([(k.name, k.at(4)) for k in Kernel], Kernel.scale, len(Kernel), Kernel['twice'] is Kernel.twice)
print(isinstance(Kernel, EnumMeta), isinstance(Kernel, EnumType), isinstance(Kernel.part, EnumMeta), isinstance(Lazy, EnumMeta))
