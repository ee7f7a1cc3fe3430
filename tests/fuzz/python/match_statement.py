import enum
from dataclasses import dataclass


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: int
    y: int = 0


class Named:
    __match_args__ = ('name',)

    def __init__(self, name):
        self.name, self.size = name, len(name)


def what(v):
    match v:
        case None:
            return 'none'
        case True | False:
            return 'bool'
        case 0 | -1:
            return 'zero or minus one'
        case 1.5:
            return 'one and a half'
        case 'go' | 'walk' as word:
            return f'word {word}'
        case Color.RED:
            return 'red'
        case Color():
            return 'another color'
        case []:
            return 'empty'
        case [x]:
            return f'one {x}'
        case (1, y):
            return f'one and {y}'
        case [_, _, *rest] if len(rest) > 2:
            return f'long {rest}'
        case ['a', *middle, 'z']:
            return f'a to z {middle}'
        case [[a, b], c]:
            return f'nested {a} {b} {c}'
        case {'kind': 'circle', 'r': r}:
            return f'circle {r}'
        case {'kind': kind, **rest}:
            return f'{kind} {rest}'
        case {}:
            return 'some dict'
        case Point(x=0, y=0):
            return 'origin'
        case Point(0, y):
            return f'on y at {y}'
        case Point(x, y=5 | 6 as y):
            return f'{x} high {y}'
        case Point():
            return 'a point'
        case Named('bob'):
            return 'bob'
        case Named(name, size=size):
            return f'{name} of {size}'
        case str(s) if s.startswith('x'):
            return f'x-text {s}'
        case int() | float():
            return 'number'
        case str():
            return 'text'
        case (a, b) | [a, b, _]:
            return f'pair {a} {b}'
        case _:
            return 'other'


for v in (None, True, False, 0, -1, 1, 1.5, 2.5, 'go', 'walk', 'xyz', 'abc', Color.RED, Color.BLUE, [], [7], (7,), (1, 2), [3, 4], 'ab',
          [1, 2, 3, 4, 5], ['a', 'z'], ['a', 1, 'z'], [[1, 2], 3], [5, 6, 7], {'kind': 'circle', 'r': 2}, {'kind': 'box', 'w': 1}, {},
          {'a': 1}, Point(0, 0), Point(0, 3), Point(2, 5), Point(2, 7), Named('bob'), Named('eve'), range(2), range(1), {1, 2}, len):
    print(repr(v) if not isinstance(v, Named) and v is not len else '-', '->', what(v))


x = 'before'
match [1, 2]:
    case [x, 3]:
        print('no')
    case [_, x] if x > 5:
        print('no', x)
    case _:
        print('kept', x)
match = 3
case = [match]
print(match, case[0], (lambda match: match + 1)(2))
match case:
    case [n]: print('one', n)
match (1, 2), 3:
    case (a, b), c:
        print(a, b, c)
match 5:
    case 6:
        print('no')
total = 0
for step in ['up', 'down', ('jump', 3), 'stop', 'up']:
    match step:
        case 'up':
            total += 1
        case 'down':
            total -= 1
            continue
        case ('jump', n):
            total += n
        case 'stop':
            break
print(total)


def nested(tree):
    match tree:
        case ('add', left, right):
            return nested(left) + nested(right)
        case ('mul', left, right):
            return nested(left) * nested(right)
        case ('neg', inner):
            return -nested(inner)
        case int(n):
            return n
    raise ValueError(tree)


print(nested(('add', 1, ('mul', 2, ('neg', 3)))))


def closure(v):
    match v:
        case [head, *tail]:
            return lambda: (head, tail)
        case other:
            return lambda: other


print(closure([1, 2, 3])(), closure(9)())
try:
    match Point(1, 2):
        case Point(a, b, c):
            pass
except TypeError as error:
    print(error)


# _ is no name: it may stand anywhere, often, and is bound to nothing.
def unnamed(v):
    match v:
        case [_, [_, *_], {"k": _}] | _:
            pass
    return _


_ = "kept"
print(unnamed([1, [2, 3], {"k": 4}]), unnamed(5))
match [6, 7]:
    case [_, _]:
        print(_)
