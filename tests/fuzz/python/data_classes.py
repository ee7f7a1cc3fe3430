import dataclasses
from dataclasses import FrozenInstanceError, asdict, astuple, dataclass, field, fields, is_dataclass, replace


@dataclass
class Point:
    x: int
    y: int = 2


@dataclass(frozen=True)
class Config:
    width: int = 4
    names: list = field(default_factory=list)
    origin: Point = field(default_factory=lambda: Point(0))
    ratio: float = 0.5

    @property
    def half(self):
        return self.width // 2


@dataclass(order=True)
class Version:
    major: int
    minor: int = 0
    note: str = field(default='', compare=False, repr=False)

    def __post_init__(self):
        self.text = f'{self.major}.{self.minor}'


@dataclass
class Child(Point):
    z: int = 0
    total: int = field(init=False)
    kind = 'child'

    def __post_init__(self):
        self.total = self.x + self.y + self.z


@dataclass(kw_only=True)
class Options:
    lr: float
    steps: int = 10


class Plain(Point):
    pass


print(Point(1), Point(1) == Point(1, 2), Point(1) == Point(2), Point(1) != Plain(1), Point(y=1, x=0), Plain(3))
c, d = Config(), Config(width=6, names=['a'])
print(c, d, c == Config(), c.half, d.names is not c.names, replace(d, ratio=1.0), c.names is Config().names)
for change in (lambda: setattr(c, 'width', 1), lambda: delattr(c, 'width'), lambda: setattr(c, 'other', 1)):
    try:
        change()
    except FrozenInstanceError as error:
        print(error, isinstance(error, AttributeError))
print(Version(1, 2) < Version(1, 10), max(Version(3), Version(2, 9)), Version(1, note='x') == Version(1), Version(2, 1).text)
print(sorted([Version(2), Version(1, 5), Version(1)]), Version(1) <= Version(1), Version(0) > Version(1))
print(Child(1), Child(1, 3, 5).total, Child.kind, Options(lr=0.1), Options(steps=3, lr=1))
print(asdict(d), astuple(Child(1)), asdict(d)['origin'], [f.name for f in fields(Child)], is_dataclass(d), is_dataclass(3), is_dataclass(Point))
copy = asdict(d)
copy['names'].append('b')
print(d.names, copy['names'], Point.y, hasattr(Point, 'x'), Point.__match_args__, vars(Point(5)))


def wrong():
    yield lambda: Point()
    yield lambda: Point(1, 2, 3)
    yield lambda: Point(1, x=2)
    yield lambda: Point(1, z=2)
    yield lambda: Options(0.1)
    yield lambda: Options()
    yield lambda: Child(1, total=3)


for f in wrong():
    try:
        print(f())
    except TypeError as error:
        print(error)
try:
    @dataclass
    class Shared:
        items: list = []
except ValueError as error:
    print(type(error).__name__)
try:
    @dataclass
    class Late:
        a: int = 1
        b: int
except TypeError as error:
    print(error)
try:
    {Point(1): 1}
except TypeError as error:
    print(error)


@dataclass
class Both:
    x: int

    def __repr__(self):
        return 'own'

    def __eq__(self, other):
        return True


print(Both(1), Both(1) == Both(2), dataclasses.replace(Both(1), x=5).x, Point(1) < Point(2) if hasattr(Point, '__lt__') and False else '')
