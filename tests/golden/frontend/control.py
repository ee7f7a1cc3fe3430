def control(n, xs):
    if n < 0 or not xs and n:
        return None
    elif 0 < n <= 10:
        pass
    else:
        n = -n if n else +n
    for i, x in enumerate(xs):
        if x is None:
            continue
        if x not in xs:
            break
    else:
        n = 0
    while True:
        n -= 1
        if not n:
            break
    while (m := n) != 0:
        n //= 2
    else:
        return m
    assert n == 0, f"n is {n}"
    return 0 < n < 3 < m and m is not n
