log = []


def note(x):
    log.append(x)
    return x


g = (note(x) * 2 for x in range(4))
print(log, next(g), log, next(g), log)
print(list(g), list(g), log)
squares = (x * x for x in [1, 2, 3])
print(sum(squares), sum(squares), type(squares).__name__)
print(any(note(x) > 10 for x in (9, 11, 12)), log[-1], all(x < 3 for x in range(10)), next((x for x in [1, 5, 9] if x > 4), None))
rows = [[1, 2], [3], []]
print([*(y for row in rows for y in row if y != 2)], max((len(r) for r in rows), default=0), tuple(x for x in 'ab'), {x: 1 for x in (c for c in 'xy')})
items = [1, 2, 3]
later = (x for x in items)
items.append(4)
print(list(later), dict((k, v) for k, v in [('a', 1)]), sorted(x % 3 for x in range(5)), ','.join(str(x) for x in range(3)))
factor = 2
scaled = (x * factor for x in [1, 2])
factor = 10
print(list(scaled), [list(zip((x for x in 'ab'), (y for y in range(9))))], list(enumerate(c for c in 'pq')), list(map(str, (x for x in [1]))))
try:
    len(x for x in [])
except TypeError as error:
    print(error)
try:
    print(list(10 // x for x in [5, 0, 1]))
except ZeroDivisionError as error:
    print(error)
first = (x for x in [1, 2, 3, 4])
for x in first:
    if x == 2:
        break
print(list(first), list((x, y) for x in range(2) for y in range(x + 1)), (lambda *a: a)(*(x for x in [7, 8])))


def outer(n):
    total = sum(n * i for i in range(3))
    return total, list(outer_name for outer_name in (n, total))


print(outer(2), sum((x for x in [1]), 5), 3 in (x for x in [1, 3]), set(x // 2 for x in range(4)))
a, b = (x for x in (1, 2))
print(a, b, *(x for x in 'no'), sep='-')
