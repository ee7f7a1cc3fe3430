"""itertools: iterators are lists that are made at once, but for those without an end."""
def chain(*lists):
    return iter([item for one in lists for item in one])


chain.from_iterable = lambda lists: chain(*lists)


class count:
    def __init__(self, start=0, step=1):
        self.next, self.step = start, step

    def __iter__(self):
        return self

    def __next__(self):
        self.next += self.step
        return self.next - self.step


class cycle(count):
    def __init__(self, items):
        super().__init__()
        self.items = list(items)

    def __next__(self):
        if not self.items:
            raise StopIteration
        return self.items[super().__next__() % len(self.items)]


def islice(items, *bounds):
    bounds = slice(*bounds)
    found = []
    if bounds.stop is None:
        return iter(list(items)[bounds])
    items = iter(items)
    for _ in range(bounds.stop):
        try:
            found.append(next(items))
        except StopIteration:
            break
    return iter(found[bounds])


def zip_longest(*lists, fillvalue=None):
    lists = [list(one) for one in lists]
    longest = max([len(one) for one in lists], default=0)
    return zip(*[one + [fillvalue] * (longest - len(one)) for one in lists])


def permutations(items, r=None):
    items = list(items)
    r = len(items) if r is None else r
    rows = [row for row in product(range(len(items)), repeat=r) if len(set(row)) == r]
    return iter([tuple(items[i] for i in row) for row in rows])


def combinations(items, r):
    items = list(items)
    rows = [row for row in product(range(len(items)), repeat=r) if all(a < b for a, b in pairwise(row))]
    return iter([tuple(items[i] for i in row) for row in rows])


def combinations_with_replacement(items, r):
    items = list(items)
    rows = [row for row in product(range(len(items)), repeat=r) if all(a <= b for a, b in pairwise(row))]
    return iter([tuple(items[i] for i in row) for row in rows])


def starmap(function, rows):
    return iter([function(*row) for row in rows])


def product(*lists, repeat=1):
    rows = [()]
    for one in lists * repeat:
        one = list(one)
        rows = [row + (item,) for row in rows for item in one]
    return iter(rows)


def repeat(item, times=None):
    return cycle([item]) if times is None else iter([item] * times)


def accumulate(items, func=None, *, initial=None):
    out = [] if initial is None else [initial]
    for item in items:
        out.append(item if not out else out[-1] + item if func is None else func(out[-1], item))
    return iter(out)


def groupby(items, key=None):
    groups = []
    for item in items:
        k = item if key is None else key(item)
        if not groups or groups[-1][0] != k:
            groups.append((k, []))
        groups[-1][1].append(item)
    return iter([(k, iter(group)) for k, group in groups])


def takewhile(predicate, items):
    found = []
    for item in items:
        if not predicate(item):
            break
        found.append(item)
    return iter(found)


def dropwhile(predicate, items):
    items = list(items)
    n = 0
    while n < len(items) and predicate(items[n]):
        n += 1
    return iter(items[n:])


def filterfalse(predicate, items):
    return iter([item for item in items if not (item if predicate is None else predicate(item))])


def compress(items, selectors):
    return iter([item for item, take in zip(items, selectors) if take])


def tee(items, n=2):
    items = list(items)
    return tuple([iter(items) for _ in range(n)])


def batched(items, n, *, strict=False):
    items = list(items)
    if strict and len(items) % n:
        raise ValueError('batched(): incomplete batch')
    return iter([tuple(items[i:i + n]) for i in range(0, len(items), n)])


def pairwise(items):
    items = list(items)
    return zip(items, items[1:])


# enumerate, zip, map and filter of what may have no end, or does something between its items.

def _enumerate(items, start=0):
    for item in items:
        yield start, item
        start += 1


def _zip(*lists):
    lists = [iter(one) for one in lists]
    while lists:
        row = []
        for one in lists:
            try:
                row.append(next(one))
            except StopIteration:
                return
        yield tuple(row)


def _map(function, *lists):
    for row in _zip(*lists):
        yield function(*row)


def _filter(function, items):
    for item in items:
        if item if function is None else function(item):
            yield item
