"""Operators, methods and functions of Python's own types at their edges: the value, or the exception, of each."""
import math


def say(*calls):
    for i, call in enumerate(calls):
        try:
            print(i, repr(call()))
        except Exception as e:
            print(i, type(e).__name__, e)


s, l, d, t, e = 'a,b  c', [3, 1, 2], {'x': 1, 'y': 2}, (1, 2, 3), {1, 2}


def changed(f, v):
    f(v)
    return v


print('numbers')
say(lambda: 7 // 2, lambda: -7 // 2, lambda: 7 % -3, lambda: -7 % 3, lambda: 7.5 // 2, lambda: -7.5 % 2, lambda: 1 / 0,
    lambda: 1 // 0, lambda: 1 % 0, lambda: 1.0 / 0, lambda: 1.0 // 0, lambda: 1.0 % 0, lambda: 2 ** 10,
    lambda: 2 ** -1, lambda: 0 ** 0, lambda: 0 ** -1, lambda: (-8) ** 2, lambda: 2.0 ** 0.5, lambda: divmod(7, -2),
    lambda: divmod(7.5, 2), lambda: divmod(1, 0), lambda: abs(-3), lambda: abs(-0.5), lambda: abs(True), lambda: -True,
    lambda: ~5, lambda: ~True, lambda: ~1.5, lambda: 1 << 5, lambda: 1 << -1, lambda: -5 >> 1, lambda: 5 & 3,
    lambda: 5 | 8, lambda: 5 ^ 1, lambda: True & False, lambda: True + True, lambda: 1.5 & 1, lambda: round(2.5),
    lambda: round(3.5), lambda: round(-2.5), lambda: round(2.675, 2), lambda: round(1234, -2),
    lambda: round(1.5, None), lambda: int('12'), lambda: int(' 12 '), lambda: int('1x'), lambda: int(''),
    lambda: int('ff', 16), lambda: int('0x1f', 0), lambda: int('12', 2), lambda: int(3.99), lambda: int(-3.99),
    lambda: int(), lambda: int(True), lambda: float('1e3'), lambda: float('x'), lambda: float('-inf'),
    lambda: float(' 2 '), lambda: float(), lambda: bool(''), lambda: bool('0'), lambda: bool(0.0), lambda: bool([0]),
    lambda: bool(None), lambda: complex(1, 2), lambda: 1j * 1j, lambda: abs(3 + 4j), lambda: 1 < 2 < 3,
    lambda: 1 < 3 < 2, lambda: 1 == 1.0, lambda: True == 1, lambda: 1 != 1, lambda: 1 < 'a', lambda: None < 1,
    lambda: None == 0, lambda: float('nan') == float('nan'), lambda: 0.1 + 0.2, lambda: 1e16, lambda: 1e15,
    lambda: 1e-4, lambda: 1e-5, lambda: 123456789.125, lambda: -0.0, lambda: 1e300 * 1e10, lambda: (5).bit_length(),
    lambda: (0).bit_length(), lambda: (2.5).is_integer(), lambda: (2.0).is_integer(), lambda: hex(255),
    lambda: bin(-5), lambda: oct(8), lambda: chr(97), lambda: ord('a'), lambda: ord('ab'), lambda: chr(-1),
    lambda: hex(1.5))
print('maths')
say(lambda: math.sqrt(2), lambda: math.sqrt(-1), lambda: math.log(0), lambda: math.log(8, 2), lambda: math.log2(8),
    lambda: math.log10(1000), lambda: math.log1p(0), lambda: math.exp(0), lambda: math.floor(-1.5),
    lambda: math.ceil(-1.5), lambda: math.trunc(-1.5), lambda: math.gcd(12, 18), lambda: math.lcm(4, 6),
    lambda: math.gcd(1.5, 1), lambda: math.factorial(5), lambda: math.factorial(-1), lambda: math.comb(5, 2),
    lambda: math.perm(5, 2), lambda: math.prod([1, 2, 3]), lambda: math.prod([]), lambda: math.isqrt(17),
    lambda: math.isqrt(-1), lambda: math.hypot(3, 4), lambda: math.copysign(1, -0.0), lambda: math.isnan(float('nan')),
    lambda: math.isinf(1), lambda: math.isfinite(1), lambda: math.isclose(1, 1 + 1e-10),
    lambda: math.isclose(1, 1.1, rel_tol=0.2), lambda: math.pow(2, 3), lambda: math.fmod(-7, 3),
    lambda: math.atan2(1, -1), lambda: math.sin('a'), lambda: math.pi, lambda: math.inf, lambda: math.fabs(-1),
    lambda: math.degrees(math.pi), lambda: math.radians(180), lambda: math.tanh(0.5), lambda: math.erf(0.5),
    lambda: math.fsum([0.1] * 10))
print('strings')
say(lambda: s[0], lambda: s[-1], lambda: s[9], lambda: s[1:3], lambda: s[::-1], lambda: s[::2], lambda: s[5:1],
    lambda: s[-100:100], lambda: s + 'd', lambda: s + 1, lambda: s * 2, lambda: s * 0, lambda: s * -1, lambda: 2 * s,
    lambda: 'b' in s, lambda: '' in s, lambda: 1 in s, lambda: s < 'b', lambda: s == 'a', lambda: 'a' < 1,
    lambda: s.split(), lambda: s.split(','), lambda: s.split(',', 0), lambda: s.split(' ', 1),
    lambda: s.rsplit(' ', 1), lambda: s.split(''), lambda: ''.split(), lambda: ''.split(','), lambda: ' a '.split(' '),
    lambda: 'a\nb\r\nc'.splitlines(), lambda: s.partition(','), lambda: s.partition('z'), lambda: s.rpartition(' '),
    lambda: ','.join(['a']), lambda: ','.join([]), lambda: ','.join('abc'), lambda: ' a '.strip(),
    lambda: 'xax'.strip('x'), lambda: 'abc'.strip('abc'), lambda: ' a '.lstrip(), lambda: ' a '.rstrip(),
    lambda: s.find('b'), lambda: s.find('z'), lambda: s.rfind(' '), lambda: s.find('a', 1), lambda: s.find('', 3),
    lambda: s.index('z'), lambda: s.count(' '), lambda: s.count(''), lambda: s.replace(' ', ''),
    lambda: s.replace(' ', '', 1), lambda: s.replace('', '-'), lambda: s.startswith('a'),
    lambda: s.startswith(('x', 'a')), lambda: s.endswith('c'), lambda: s.endswith(''), lambda: s.startswith('b', 2),
    lambda: 'aB'.upper(), lambda: 'aB'.lower(), lambda: 'aB'.swapcase(), lambda: 'a b'.title(),
    lambda: 'aB'.capitalize(), lambda: 'a'.center(4), lambda: 'a'.center(5, '*'), lambda: 'a'.ljust(3) + '|',
    lambda: 'a'.rjust(3, '0'), lambda: '-1'.zfill(4), lambda: 'abc'.zfill(2), lambda: '12'.isdigit(),
    lambda: ''.isdigit(), lambda: 'a1'.isalnum(), lambda: 'a'.isalpha(), lambda: ' '.isspace(), lambda: 'A'.isupper(),
    lambda: 'a1'.islower(), lambda: 'a_1'.isidentifier(), lambda: '1a'.isidentifier(), lambda: 'a'.removeprefix('a'),
    lambda: 'ab'.removesuffix('b'), lambda: 'ab'.removesuffix(''), lambda: len('é'), lambda: repr("a'b"),
    lambda: repr('a"\'b'), lambda: str(None), lambda: str(1.0), lambda: str([1, 'a']), lambda: str({'a': (1,)}),
    lambda: str(()), lambda: str(set()), lambda: 'a'.nothing, lambda: 'a'.upper(1), lambda: sorted('bca'),
    lambda: list('ab'), lambda: max('abc'), lambda: max(''))
print('formats')
say(lambda: f'{3:5}|{3:<5}|{3:^5}|{3:05}|{3:+}|{-3: }', lambda: f'{3.14159:.2f}', lambda: f'{3.14159:8.3f}|',
    lambda: f'{1e10:g}', lambda: f'{1e-10:g}', lambda: f'{123456789:,}', lambda: f'{1234.5:,.1f}',
    lambda: f'{0.256:.1%}', lambda: f'{255:x} {255:X} {255:#x} {5:b} {5:#b} {8:o}',
    lambda: f'{"a":>3}|{"a":*^5}|{"abc":.2}', lambda: f'{"a":d}', lambda: f'{1.5:d}', lambda: f'{1:.2f}',
    lambda: f'{True:d} {True}', lambda: f'{None:5}', lambda: f'{[1]!r:>5}', lambda: f'{1e20:f}',
    lambda: f'{float("nan"):.1f} {float("-inf"):5}', lambda: f'{1234.5678:e} {1234.5678:.3E}',
    lambda: f'{0:g} {100000:g} {1000000:g} {1.5:g}', lambda: f'{12:_>6}', lambda: f'{3!s:4}|', lambda: f'{s=}',
    lambda: f'{{}}', lambda: f'{1:{2 + 3}}', lambda: f'{-5:=+6}', lambda: f'{1_000_000:_}', lambda: f'{2.0}',
    lambda: '%d %s %r' % (1, 'a', 'b'), lambda: '%5d|%-5d|%05d|%+d' % (1, 2, 3, 4),
    lambda: '%.2f %e %g' % (1.5, 1500.0, 1e-7), lambda: '%x %X %o %c %%' % (255, 255, 8, 'a'), lambda: '%s' % (1,),
    lambda: '%s' % [1], lambda: '%d' % 1.9, lambda: '%d' % 'a', lambda: '%s %s' % 1, lambda: '%s' % (1, 2),
    lambda: '%(x)s' % d, lambda: '%(z)s' % d, lambda: '%.3s|%10.2s|' % ('abcdef', 'xyz'), lambda: '%*d' % (5, 1),
    lambda: '%' % 1, lambda: '%i' % True, lambda: '{} {}'.format(1, 2), lambda: '{1} {0}'.format(1, 2),
    lambda: '{a} {b:.1f}'.format(a=1, b=2), lambda: '{0[x]}'.format(d), lambda: '{}'.format(), lambda: '{2}'.format(1),
    lambda: '{:>4}|'.format('a'), lambda: '{{{}}}'.format(1), lambda: '{'.format(1), lambda: '}'.format(1),
    lambda: '{:{}}|'.format('a', 3), lambda: format(1.5, '.2f'), lambda: format(5, '03d'),
    lambda: format('a', '3') + '|', lambda: '{!r}'.format('a'))
print('lists')
say(lambda: l[3], lambda: l[-3], lambda: l[-4], lambda: l[1:], lambda: l[::-1], lambda: l[::0], lambda: l['a'],
    lambda: l + [4], lambda: l + (4,), lambda: l * 2, lambda: [1] * 0, lambda: [1] * -1, lambda: 3 in l,
    lambda: l == [3, 1, 2], lambda: l < [3, 2], lambda: l < 5, lambda: l.index(2), lambda: l.index(9),
    lambda: l.count(1), lambda: l.copy() is l, lambda: sorted(l), lambda: sorted(l, reverse=True),
    lambda: sorted(l, key=lambda v: -v), lambda: sorted([1, 'a']), lambda: list(reversed(l)),
    lambda: changed(lambda v: v.append(4), l.copy()), lambda: changed(lambda v: v.extend('ab'), l.copy()),
    lambda: changed(lambda v: v.extend(5), l.copy()), lambda: changed(lambda v: v.insert(0, 9), l.copy()),
    lambda: changed(lambda v: v.insert(-1, 9), l.copy()), lambda: changed(lambda v: v.insert(99, 9), l.copy()),
    lambda: l.copy().pop(), lambda: l.copy().pop(0), lambda: l.copy().pop(5), lambda: [].pop(),
    lambda: changed(lambda v: v.remove(1), l.copy()), lambda: changed(lambda v: v.remove(7), l.copy()),
    lambda: changed(lambda v: v.reverse(), l.copy()), lambda: changed(lambda v: v.sort(), l.copy()),
    lambda: changed(lambda v: v.sort(reverse=True), l.copy()), lambda: changed(lambda v: v.clear(), l.copy()),
    lambda: max(l), lambda: min(l), lambda: max([]), lambda: max([], default=0), lambda: max(1, 2), lambda: max(1),
    lambda: min(l, key=lambda v: -v), lambda: sum(l), lambda: sum(l, 10), lambda: sum([]), lambda: sum(['a']),
    lambda: sum([[1], [2]], []), lambda: any(l), lambda: all([]), lambda: any([]), lambda: all([1, 0]), lambda: len(l),
    lambda: len(5), lambda: list(enumerate(l, 1)), lambda: list(zip(l, 'ab')), lambda: list(zip()),
    lambda: list(zip([1], [1, 2], strict=True)), lambda: list(map(abs, [-1])),
    lambda: list(map(lambda a, b: a + b, [1, 2], [3])), lambda: list(filter(None, [0, 1])),
    lambda: list(filter(lambda v: v > 1, l)), lambda: list(5), lambda: list(range(5, 0, -2)), lambda: range(3)[-1],
    lambda: range(0, 10, 0), lambda: len(range(0, 10, 3)), lambda: 4 in range(0, 10, 2),
    lambda: range(3) == range(0, 3), lambda: range(5)[1:3], lambda: range(1.5), lambda: [*l, *t],
    lambda: next(iter(l)), lambda: next(iter([])), lambda: next(iter([]), 7), lambda: iter(5),
    lambda: [v for v in l if v > 1], lambda: [a for b in [[1], [2]] for a in b])
print('tuples and sets')
say(lambda: t[3], lambda: t[1:], lambda: t + (4,), lambda: t + [4], lambda: t * 2, lambda: t < (1, 3),
    lambda: t == (1, 2, 3), lambda: t.index(2), lambda: t.count(1), lambda: tuple('ab'), lambda: (1,),
    lambda: changed(lambda v: v.append(1), t), lambda: sorted(e | {3}), lambda: sorted(e & {2}),
    lambda: sorted(e - {2}), lambda: sorted(e ^ {2, 3}), lambda: e < {1, 2, 3}, lambda: e <= e, lambda: e > {1},
    lambda: e == {2, 1}, lambda: 1 in e, lambda: e | [1], lambda: len({1, 1}),
    lambda: sorted(changed(lambda v: v.add(5), {1})), lambda: changed(lambda v: v.remove(5), {1}),
    lambda: sorted(changed(lambda v: v.discard(5), {1})), lambda: e.issubset([1, 2, 3]), lambda: e.isdisjoint({3}),
    lambda: sorted(e.union([5])), lambda: sorted(e.difference([1])), lambda: {[1]}, lambda: frozenset([1]) == {1},
    lambda: sorted(changed(lambda v: v.update([7]), {1})))
print('dicts')
say(lambda: d['x'], lambda: d['z'], lambda: d.get('z'), lambda: d.get('z', 5), lambda: d[[1]], lambda: list(d),
    lambda: list(d.keys()), lambda: list(d.values()), lambda: list(d.items()), lambda: len(d), lambda: 'x' in d,
    lambda: 1 in d, lambda: d == {'y': 2, 'x': 1}, lambda: d | {'z': 3}, lambda: d | [1], lambda: {**d, 'x': 5},
    lambda: dict([('a', 1)]), lambda: dict(a=1), lambda: dict(d, y=5), lambda: d.copy() is d, lambda: dict(d).pop('x'),
    lambda: dict(d).pop('z'), lambda: dict(d).pop('z', 0), lambda: dict(d).popitem(), lambda: {}.popitem(),
    lambda: dict(d).setdefault('z', 3), lambda: dict(d).setdefault('x', 3),
    lambda: changed(lambda v: v.update(x=9), dict(d)), lambda: changed(lambda v: v.update([('k', 1)]), dict(d)),
    lambda: changed(lambda v: v.clear(), dict(d)), lambda: dict.fromkeys('ab', 0),
    lambda: {k: v for k, v in d.items() if v > 1}, lambda: {1: 'a', True: 'b'}, lambda: {1.0: 'a'}[1],
    lambda: d.nothing, lambda: d < d, lambda: list(reversed(d)), lambda: max(d),
    lambda: sorted(d.items(), key=lambda kv: -kv[1]), lambda: d.keys() & {'x'}, lambda: d[None],
    lambda: {None: 1}[None], lambda: {(1, 2): 3}[1, 2])


def f(a, b=2, *rest, c, d=4, **more):
    return a, b, rest, c, d, more


print('calls')
say(lambda: f(1, c=3), lambda: f(1), lambda: f(c=3), lambda: f(1, 2, 3, 4, c=5, e=6), lambda: f(1, a=2, c=3),
    lambda: f(*[1, 2], **{'c': 3}), lambda: (lambda: 1)(2), lambda: (lambda a: 1)(), lambda: (lambda a, b: 1)(),
    lambda: (lambda *, a: a)(1), lambda: 5(), lambda: None(), lambda: None.x, lambda: None[0], lambda: (5).x,
    lambda: nothing, lambda: isinstance(1, int), lambda: isinstance(True, int), lambda: isinstance(1, (str, float)),
    lambda: isinstance(1, 5), lambda: issubclass(1, int), lambda: type(1) is int, lambda: type(1.0).__name__,
    lambda: callable(f), lambda: getattr(d, 'nothing', 3), lambda: getattr(5, 'nothing'), lambda: hasattr('', 'upper'),
    lambda: f.__name__, lambda: print.__name__, lambda: int.__name__, lambda: [] is [], lambda: None is None,
    lambda: 1 if [] else 2, lambda: 0 or 'a', lambda: 1 and '', lambda: not 1, lambda: (x := 5) + x)
