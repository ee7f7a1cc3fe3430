def batches(xs, n=2):
    got = yield
    for i in range(0, len(xs), n):
        got = yield xs[i:i + n], i
    rest = yield from batches(xs, n + 1)
    print((yield), got)
    return rest


each = lambda n: (yield n)
