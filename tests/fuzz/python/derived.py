"""Classes derived from built-in types."""
import copy
import enum
from enum import Enum, IntEnum, auto


class Config(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name)

    def __setattr__(self, name, value):
        self[name] = value

    def __delattr__(self, name):
        del self[name]


c = Config(width=3, depth=2)
c.name = 'net'
print(c, c.width, c['name'], len(c), 'depth' in c, 'x' in c, sorted(c), isinstance(c, dict), type(c).__name__, c == dict(c))
del c.depth
print(dict(c, more=1), {**c, 'a': 0}, list(c.items()), c.get('none', 7), hasattr(c, 'none'), c.pop('name'), bool(c), bool(Config()))
print((lambda **kw: sorted(kw.items()))(**c))
try:
    c.missing
except AttributeError as error:
    print('AttributeError', error)


class Attributes(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


a = Attributes([('x', 1)], y=2)
a.z = 3
a['w'] = 4
print(a, a.x + a.y, a.w, vars(a) == a, a.__dict__ is a.__dict__)


class Short(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


s = Short(lr=0.1)
s.steps = 5
print(s.lr, s.steps, s.nothing, s)


class Zeros(dict):
    def __missing__(self, key):
        return 0


z = Zeros()
z['a'] += 2
print(z['a'], z['b'], z, 'b' in z, z.get('b'))


class Upper(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key.upper(), value)

    def __getitem__(self, key):
        return super().__getitem__(key.upper())


u = Upper()
u['ab'] = 1
print(u, u['Ab'], list(u.keys()), list(u))


class Stack(list):
    def __init__(self, *items):
        super().__init__(items)
        self.pushes = 0

    def push(self, x):
        self.append(x)
        self.pushes += 1
        return self

    def __repr__(self):
        return f'Stack{list(self)}'


t = Stack(1, 2).push(5)
print(t, t[0], t[-1], t[1:], type(t[1:]).__name__, len(t), t.pushes, sum(t), sorted(t, reverse=True), 5 in t, t == [1, 2, 5])
t += [7]
t[0] = 9
del t[1]
t.extend(x for x in (1, 2))
print(t, type(t).__name__, t + [0], t * 2, [*t], max(t), list(reversed(t)), t.index(7), isinstance(t, list), t > [1])
for i, x in enumerate(t):
    print(i, x, end=' ')
first, *rest = t
print(first, rest)


class Point(tuple):
    def __new__(cls, x, y):
        return super().__new__(cls, (x, y))

    @property
    def x(self):
        return self[0]

    def __add__(self, other):
        return Point(self[0] + other[0], self[1] + other[1])


p = Point(1, 2) + (3, 4)
print(p, p.x, len(p), p == (4, 6), {p: 'p'}[(4, 6)], isinstance(p, tuple))


class Meters(float):
    def __repr__(self):
        return f'{float(self)}m'


class Name(str):
    def shout(self):
        return self.upper() + '!'


m, n = Meters(2.5), Name('ada')
print(m, [m], m + 1, m * 2 > 4, -m, round(m), int(m), f'{m:.3f}', m == 2.5, {2.5: 'found'}[m])
print(n, [n], n.shout(), n + 'x', n == 'ada', n in {'ada': 1}, n[0], len(n), n[::-1], 'd' in n, f'{n:>5}|', ','.join(list(n)), '%s' % n)
print(isinstance(n, str), 'ad' < n, n.startswith('a'), bool(Name('')), bool(n), int(Name('12')) + 1, n * 2, 'a' + n)


class Tags(set):
    pass


tags = Tags('ab')
tags.add('c')
print(sorted(tags), len(tags), 'a' in tags, tags == {'a', 'b', 'c'}, sorted(tags | {'z'}), isinstance(tags, set))


class Mode(str, Enum):
    RELU = 'relu'
    GELU = 'gelu'
    ALSO = 'relu'

    @property
    def short(self):
        return self.value[0]


print(Mode.RELU, repr(Mode.RELU), Mode.RELU == 'relu', 'relu' == Mode.RELU, Mode('gelu'), Mode['GELU'] is Mode.GELU, Mode.ALSO is Mode.RELU)
print({'relu': 1}[Mode.RELU], {Mode.RELU: 2}['relu'], Mode.GELU in ('gelu', 'x'), Mode.RELU.short, Mode.RELU.upper(), len(Mode.RELU))
print([mode.name for mode in Mode], [mode.value for mode in Mode], list(Mode.__members__), isinstance(Mode.RELU, str), Mode.RELU != 'gelu')
print('relu' in [mode for mode in Mode], Mode.RELU + '_', f'{Mode.RELU.value:>6}', Mode.RELU is copy.deepcopy(Mode.RELU))


class Level(IntEnum):
    LOW = 1
    MID = auto()
    HIGH = 10


print(Level.LOW, repr(Level.MID), Level.HIGH + 1, Level.LOW < Level.HIGH, Level.MID == 2, [10, 20, 30][Level.MID], Level(10), f'{Level.LOW}')
print(sorted([Level.HIGH, Level.LOW]), max(Level), sum(Level), Level.LOW * 2.5, range(Level.MID), {1: 'one'}[Level.LOW], bool(Level.LOW), -Level.LOW)
print(isinstance(Level.LOW, int), int(Level.HIGH), float(Level.LOW), 10 - Level.MID, Level.LOW | 4, Level.HIGH // 3, f'{Level.HIGH:4d}|', '%d' % Level.HIGH)


class Planet(Enum):
    EARTH = (5.0, 6)
    MARS = (0.6, 3)

    def __init__(self, mass, radius):
        self.mass, self.radius = mass, radius


print(Planet.EARTH.mass, Planet.MARS.radius, Planet.EARTH.value, Planet((0.6, 3)))


class Color(Enum):
    RED = 1
    BLUE = 2

    @classmethod
    def _missing_(cls, value):
        return cls.RED


print(Color(7), Color.RED == 1, Color.RED != Color.BLUE, Color.RED in Color, len(Color), copy.copy(Color.RED) is Color.RED)


class Celsius(int, Enum):
    ZERO = 0
    WARM = 20


print(Celsius.WARM + 1, Celsius.WARM == 20, bool(Celsius.ZERO), Celsius.WARM > Celsius.ZERO, Celsius.WARM)


class Once:
    made = None

    def __new__(cls, *args):
        if cls.made is None:
            cls.made = super().__new__(cls)
        return cls.made

    def __init__(self, x=0):
        self.x = x


print(Once(1) is Once(2), Once(3).x)


class Other:
    def __new__(cls):
        return 42


print(Other())


class Frozen:
    def __init__(self, x):
        object.__setattr__(self, 'x', x)

    def __setattr__(self, name, value):
        raise AttributeError('frozen')


f = Frozen(3)
try:
    f.x = 4
except AttributeError as error:
    print(f.x, error)
g = copy.deepcopy(Stack(1, [2]))
print(g, type(g).__name__, g.pushes, copy.copy(c), type(copy.copy(c)).__name__, [].__len__(), [1, 2].__getitem__(1), {}.__contains__(1))
from collections import Counter, OrderedDict, defaultdict, namedtuple
from typing import NamedTuple

d = defaultdict(list, a=[1])
d['b'].append(2)
print(d, isinstance(d, dict), dict(d), sorted(d), d.get('c'), 'c' in d, len(d), {k: v for k, v in d.items()})
n = defaultdict(lambda: defaultdict(int))
n['x']['y'] += 1
print(n['x'], list(n))
k = Counter('abracadabra')
print(k, k.most_common(2), k['z'], isinstance(k, dict), Counter(a=2) + Counter(a=1, b=1), sum(k.values()), sorted(k.elements())[:3])
o = OrderedDict([('a', 1), ('b', 2)])
o.move_to_end('a')
o['c'] = 3
print(o, list(o), isinstance(o, dict), o == {'a': 1, 'b': 2, 'c': 3}, o.popitem(), o.popitem(last=False), OrderedDict())
P = namedtuple('P', 'x y', defaults=[5])
q = P(1)
print(q, q.x, q[1], isinstance(q, tuple), q == (1, 5), q + (2,), P(y=2, x=1) < P(3), tuple(q), q._asdict(), q._replace(y=0), P._fields, P._make([7, 8]))
x, y = q
print(x, y, {q: 'key'}[(1, 5)], [*q], len(q), P.__name__, '%d and %d' % q)


class Edge(NamedTuple):
    start: int
    end: int = 9

    def length(self):
        return self.end - self.start


e = Edge(4)
print(e, e.length(), e.start, isinstance(e, tuple), sorted([Edge(3, 1), Edge(1, 2)]), e[-1])
for wrong in (lambda: P(), lambda: P(1, 2, 3), lambda: Edge(1, z=2), lambda: setattr(e, 'start', 1)):
    try:
        wrong()
    except (TypeError, AttributeError) as error:
        print(type(error).__name__)
