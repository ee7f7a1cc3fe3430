pairs = [(i, j) for i, row in enumerate(rows) if row for j in row if j if i < j]
unique = {x % 3 for x in xs}
table = {k: v for k, v in items}
total = sum(x * x for x in xs)


def first_long(words, n):
    any((hit := w) for w in words if len(w) > n)
    return hit, [[w + v for v in words] for w in words]
