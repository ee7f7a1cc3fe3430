"""What a compiled function reads of lists, dicts and sets: it is traced again where they hold something else."""
import torch

# Among them some of the same length with other items everywhere.
lists = [[1, 2], [1, 2, 3], [1, 4], [2], [], [5, 7]]
dicts = [{'s': 3, 'b': 4}, {'b': 1}, {'b': 2}, {'c': 2}, {}, {'s': 5, 'b': 6}]
sets = [{1, 2}, {1, 3}, {1, 2, 3}, set(), {4, 5}]
nested = [[[1, 2], {'k': (3, 4)}], [[1, 2], {'k': (3, 5)}], [[1, 6], {'k': (3, 5)}], [[1, 6], {'k': (7, 5)}]]


def keywords(s=1, b=0, **more):
    return s * 100 + b * 10 + len(more)


def positions(*v, **more):
    return sum(v[1:]) + len(v)


def unpacked(v):
    first, *rest = v
    return first * 100 + sum(rest)


def each(v, seen=0):
    for item in v:
        seen = seen * 10 + item
    return seen


reads = [
    (lists, [lambda v: 1 if v else 0, lambda v: len([0] + v), lambda v: sum(v + v), lambda v: v == [1, 2], lambda v: 2 in v,
             lambda v: len(v * 2), lambda v: v.count(2), lambda v: sum([*v]), lambda v: len(v.copy()), lambda v: sum(v[:1]),
             lambda v: v < [1, 3], lambda v: max(v, default=0), lambda v: len(f'{v}'), lambda v: sum(sorted(v)[-1:]),
             lambda v: sum(v.copy()), lambda v: len(tuple(v)), lambda v: [1, 2] != v,
             lambda v: sum([i * x for i, x in enumerate(v)]), lambda v: not v, lambda v: v.index(1) if 1 in v else -1,
             lambda v: each(v[1:]), lambda v: each(v[::-1]), lambda v: sum(v[-1:]), lambda v: v[1:][0] if v[1:] else 0,
             lambda v: each(v[:]), lambda v: sum(v[1:] + [3]), lambda v: len(f'{v[1:]}'), lambda v: 7 in v[1:],
             lambda v: positions(*v), lambda v: positions(*v[1:]), lambda v: unpacked(v) if v else 0, lambda v: each(v),
             lambda v: each(reversed(v)), lambda v: each([a * b for a, b in zip(v, v[1:])]), lambda v: each(map(abs, v)),
             lambda v: each(filter(lambda i: i > 1, v)), lambda v: next(iter(v), 0), lambda v: each(i for i in v if i > 1),
             lambda v: each({i: i for i in v}), lambda v: each(tuple(v)[1:]), lambda v: any([i > 3 for i in v[1:]]),
             lambda v: v[-1] if v else 0, lambda v: each(i[0] for i in sorted(zip(v, v))), lambda v: each([*v[1:], 1])]),
    (dicts, [lambda v: 1 if v else 0, lambda v: len({**v, 'z': 0}), lambda v: keywords(**v), lambda v: v.get('b', 7),
             lambda v: 'b' in v, lambda v: v == {'b': 1}, lambda v: sum([x for x in v.values()]), lambda v: len(''.join(v)),
             lambda v: ord(min(v, default='z')), lambda v: sum(dict(v).values()), lambda v: sum(v.copy().values()),
             lambda v: sum((v | {'q': 1}).values()), lambda v: len([ord(k) + x for k, x in v.items()]),
             lambda v: sum([ord(k) * x for k, x in v.items()]), lambda v: len(str(v)), lambda v: v['b'] if 'b' in v else 5,
             lambda v: each(list(v.values())[1:]), lambda v: each([*v.items()][0][1:] if v else ()), lambda v: each({**v}.values()),
             lambda v: v.copy().pop('b', 9), lambda v: v.setdefault('b', 8) if 'b' in v else 0]),
    (sets, [lambda v: 1 if v else 0, lambda v: len(v | {9}), lambda v: sum(v), lambda v: 3 in v, lambda v: v == {1, 2},
            lambda v: len(v & {2, 3}), lambda v: v <= {1, 2}, lambda v: v.issubset({1, 3}), lambda v: len(v - {1}),
            lambda v: len(v.union([5])), lambda v: v.isdisjoint({2}), lambda v: each(sorted(v)[1:]),
            lambda v: each([*v]), lambda v: max(v, default=0)]),
    (nested, [lambda v: each(v[0][1:]), lambda v: each(v[1:][0]['k']), lambda v: each(v[1]['k'][1:]), lambda v: each(v[0]),
              lambda v: each([x[-1] for x in v[:1]]), lambda v: sum([sum(k) for k in v[1:][0].values()]), lambda v: len(str(v[1:])),
              lambda v: each([a + b for a, b in [v[0], *v[1].values()]]), lambda v: v == [[1, 2], {'k': (3, 4)}]]),
]
for values, functions in reads:
    for read in functions:
        torch._dynamo.reset()
        compiled = torch.compile(lambda x, v: x * read(v))
        print(*[int(compiled(torch.ones(1), v)) for v in values])


class Holder:
    def __init__(self):
        self.names, self.options = ['a'], {'k': 1}


holder = Holder()


@torch.compile
def held(x):
    return x * len(holder.names + ['z']) + sum({**holder.options}.values()) + ('new' in holder.options)


print(held(torch.ones(1)))
holder.names.append('b')
print(held(torch.ones(1)))
holder.options['k'] = 5
print(held(torch.ones(1)))
holder.options['new'] = 7
print(held(torch.ones(1)))
