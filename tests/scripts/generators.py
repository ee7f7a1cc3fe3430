"""Functions that yield: items one by one, what is sent and thrown in, `with` by a generator, loops over what has no
end, and what compiled functions make of them."""
import itertools
from contextlib import contextmanager, suppress, ExitStack, closing

import torch


def count(n):
    print('start')
    for i in range(n):
        yield i
    print('end')
    return 'done'


def both(n):
    r = yield from count(n)
    print('inner returned', r)
    yield from [10, 20]


for v in both(2):
    print(v)


def echo():
    got = None
    while True:
        got = yield got
        if got is None:
            got = 'nothing'


e = echo()
print(next(e), e.send(3), e.send('x'), next(e))
e.close()
print(list(e))


def guarded():
    try:
        yield 1
        yield 2
    except ValueError as err:
        print('caught', err)
        yield 'after'
    finally:
        print('finally')


g = guarded()
print(next(g), g.throw(ValueError('boom')))
print(next(g, 'default'))


@contextmanager
def timer(name):
    print('enter', name)
    try:
        yield name.upper()
    finally:
        print('exit', name)


with timer('a') as t:
    print(t)
try:
    with timer('b'):
        raise KeyError('k')
except KeyError as k:
    print('out', k)


@timer('deco')
def work(x):
    return x + 1


print(work(1), work(2))

with suppress(ZeroDivisionError):
    1 / 0
with ExitStack() as stack:
    stack.enter_context(timer('s1'))
    stack.enter_context(timer('s2'))
    stack.callback(print, "callback")


def batches():
    i = 0
    while True:
        print('make', i)
        yield torch.full((2,), float(i)), i
        i += 1


for step, (x, y) in enumerate(batches()):
    print(step, x.sum().item(), y)
    if step == 2:
        break

print([a for a, b in zip(count(3), 'xy')])
print(sum(x * x for x in count(3)), max(count(2)), list(map(lambda v: v + 1, count(2))), sorted(count(2)), tuple(filter(None, count(3))))


class Tree:
    def __init__(self, v, *kids):
        self.v, self.kids = v, kids
    def __iter__(self):
        yield self.v
        for k in self.kids:
            yield from k


print(list(Tree(1, Tree(2, Tree(3)), Tree(4))))
a, *b = Tree(1, Tree(2), Tree(3))
print(a, b, 3 in Tree(1, Tree(3)), dict(zip('ab', Tree(1, Tree(2)))))


def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


print(list(itertools.islice(fib(), 10)))

g = count(1)
print(type(g).__name__, iter(g) is g, hasattr(g, '__next__'))
try:
    while True:
        print(next(g))
except StopIteration as s:
    print('stop', s.value)


@torch.compile
def f(xs):
    t = 0
    for x in gen(xs):
        t = t + x.sin()
    return t


def gen(xs):
    for x in xs:
        yield x * 2


print(f([torch.ones(2), torch.zeros(2)]))
print(f([torch.ones(2), torch.zeros(2)]))


def bad():
    yield 1
    raise RuntimeError('inside')


try:
    list(bad())
except RuntimeError as r:
    print(r)


def bad2():
    yield 1
    raise StopIteration


try:
    list(bad2())
except RuntimeError as r:
    print(r)
lam = lambda n: (yield n)
print(list(lam(4)))

print([(k, list(group)) for k, group in itertools.groupby('aabcc')])
print([len(list(group)) for _, group in itertools.groupby([1, -1, 2, 3], key=abs)])
print(list(itertools.accumulate([1, 2, 3], lambda a, b: a * b, initial=2)), list(zip('ab', itertools.repeat(5))))
print(list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])), list(itertools.dropwhile(lambda v: v < 3, [1, 2, 3, 1])))
print(list(itertools.compress('abc', [1, 0, 1])), list(itertools.filterfalse(None, [0, 1, 2])))
print([list(t) for t in itertools.tee([1, 2])], list(itertools.batched('abcde', 2)))
