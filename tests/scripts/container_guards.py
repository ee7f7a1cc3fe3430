"""What a compiled function reads of lists, dicts and sets: it is traced again where they hold something else."""
import torch

lists = [[1, 2], [1, 2, 3], [1, 4], [2], []]
dicts = [{'s': 3, 'b': 4}, {'b': 1}, {'b': 2}, {'c': 2}, {}]
sets = [{1, 2}, {1, 3}, {1, 2, 3}, set()]


def keywords(s=1, b=0, **more):
    return s * 100 + b * 10 + len(more)


reads = [
    (lists, [lambda v: 1 if v else 0, lambda v: len([0] + v), lambda v: sum(v + v), lambda v: v == [1, 2], lambda v: 2 in v,
             lambda v: len(v * 2), lambda v: v.count(2), lambda v: sum([*v]), lambda v: len(v.copy()), lambda v: sum(v[:1]),
             lambda v: v < [1, 3], lambda v: max(v, default=0), lambda v: len(f'{v}'), lambda v: sum(sorted(v)[-1:]),
             lambda v: sum(v.copy()), lambda v: len(tuple(v)), lambda v: [1, 2] != v,
             lambda v: sum([i * x for i, x in enumerate(v)]), lambda v: not v, lambda v: v.index(1) if 1 in v else -1]),
    (dicts, [lambda v: 1 if v else 0, lambda v: len({**v, 'z': 0}), lambda v: keywords(**v), lambda v: v.get('b', 7),
             lambda v: 'b' in v, lambda v: v == {'b': 1}, lambda v: sum([x for x in v.values()]), lambda v: len(''.join(v)),
             lambda v: ord(min(v, default='z')), lambda v: sum(dict(v).values()), lambda v: sum(v.copy().values()),
             lambda v: sum((v | {'q': 1}).values()), lambda v: len([ord(k) + x for k, x in v.items()]),
             lambda v: sum([ord(k) * x for k, x in v.items()]), lambda v: len(str(v)), lambda v: v['b'] if 'b' in v else 5]),
    (sets, [lambda v: 1 if v else 0, lambda v: len(v | {9}), lambda v: sum(v), lambda v: 3 in v, lambda v: v == {1, 2},
            lambda v: len(v & {2, 3}), lambda v: v <= {1, 2}, lambda v: v.issubset({1, 3}), lambda v: len(v - {1}),
            lambda v: len(v.union([5])), lambda v: v.isdisjoint({2})]),
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
