"""bisect: where an item belongs in a sorted list."""


def _place(a, x, lo, hi, key, before):
    hi = len(a) if hi is None else hi
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle] if key is None else key(a[middle])
        if x < item if before else not item < x:
            hi = middle
        else:
            lo = middle + 1
    return lo


def bisect_right(a, x, lo=0, hi=None, *, key=None):
    return _place(a, x, lo, hi, key, True)


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    return _place(a, x, lo, hi, key, False)


def insort(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


bisect, insort_right = bisect_right, insort


def insort_left(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)
