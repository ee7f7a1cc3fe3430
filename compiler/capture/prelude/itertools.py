"""itertools: iterators are lists that are made at once."""
def chain(*lists):
    return iter([item for one in lists for item in one])


def product(*lists, repeat=1):
    rows = [()]
    for one in lists * repeat:
        one = list(one)
        rows = [row + (item,) for row in rows for item in one]
    return iter(rows)


def repeat(item, times):
    return iter([item] * times)


def accumulate(items):
    out = []
    for item in items:
        out.append(out[-1] + item if out else item)
    return iter(out)


def pairwise(items):
    items = list(items)
    return zip(items, items[1:])
