# functools.lru_cache, singledispatch, pow with a modulus, hash, sets of several, what functions and errors know.
import functools
from collections import Counter, deque
from dataclasses import KW_ONLY, InitVar, asdict, dataclass, field, fields, replace
from typing import ClassVar, Protocol, runtime_checkable


@functools.lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.lru_cache(maxsize=2)
def square(x, *, add=0):
    print('computed', x)
    return x * x + add


@functools.cache
def once():
    print('once')
    return []


print(fibonacci(80), fibonacci.cache_info())
print(square(1), square(2), square(1), square(3), square(2), square(1, add=1), square.cache_info())
square.cache_clear()
print(square(1), once() is once(), square.__name__, square.__wrapped__(4))


@functools.singledispatch
def kind(x):
    return 'object'


kind.register(int, lambda x: 'int')


@kind.register(list)
def _(x):
    return 'list'


print(kind(1), kind(True), kind([]), kind('s'))
print(pow(2, 10, 1000), pow(-3, 5, 7), pow(3, 4, -5), pow(2, 3, None), pow(5, 0, 1))
print(hash(7), hash(-1), hash(2**61), hash(1.0), hash(0.5), hash(-2.75), hash((1, 2)), hash(()), hash((1, (2, 3.5))), hash(1e300))
print(hash('a') == hash('a'), hash((1, 'a')) == hash((1, 'a')), hash(True))
s = {1, 2, 3}
print(s.union([4], (5,)), s.intersection({1, 2}, [2]), s.difference([1], [2]), s.union(), s)
t = set(s)
t.update([7], [8])
t.difference_update([7], [1])
t.intersection_update({2, 3, 8})
t.symmetric_difference_update({3, 4})
print(sorted(t), {5}.pop())
c = Counter('aab')
print(c & Counter('ab'), c | Counter('bbb'))
d = deque([1, 2, 2], maxlen=4)
d.insert(1, 9)
d.remove(1)
d += [5, 6]
d.reverse()
print(d, d.count(2), d.index(5), d.copy())


@dataclass
class Point:
    dims: ClassVar[int] = 2
    x: int
    scale: InitVar[int] = 3
    y: float = 0.5
    z: float = field(init=False, repr=False, default=0)
    _: KW_ONLY
    name: str = 'p'

    def __post_init__(self, scale):
        self.z = self.x * scale


p = Point(2, 4, 1.5, name='q')
print(p, p.z, Point.dims, [f.name for f in fields(p)], asdict(p), Point(1) == Point(1))
print(replace(p, x=3), replace(p, x=3).z)


@runtime_checkable
class Closes(Protocol):
    def close(self): ...


class File:
    def close(self):
        pass


print(isinstance(File(), Closes), isinstance(3, Closes))


def outer(a, b=2, *, c=3):
    def inner():
        return a
    return inner


print(outer.__defaults__, outer.__kwdefaults__, outer.__closure__, outer(5).__closure__[0].cell_contents)
try:
    raise ValueError('v') from KeyError('k')
except ValueError as error:
    print(repr(error.__cause__), error.__suppress_context__, error.with_traceback(None) is error)


def takes():
    while True:
        try:
            yield 1
        except ValueError as error:
            print('caught', error)


g = takes()
next(g)
g.throw(ValueError, 'old')
g.throw(ValueError('new'))
try:
    g.throw(KeyError, 'k')
except KeyError as error:
    print(repr(error))
print(StopIteration(4).value, 'a\tb\tc'.expandtabs(4), 'a\nb\r\nc'.splitlines(True), 'A Title'.istitle(), 'a'.istitle())
