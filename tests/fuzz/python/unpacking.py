a, *b, c = range(5)
print(a, b, c)
*a, b = "xyz"
print(a, b)
(a, (b, *c)), d = (1, (2, 3, 4)), 5
print(a, b, c, d)
[a, b], c = [1, 2], 3
print(a, b, c)
def f(*args, k=0, **rest):
    return args, k, rest
print(f(*[1, 2], *"ab", k=3, **{"x": 1}, y=2), f(0, *(), **{}))
print([*range(3), *[9]], (*"ab", 1), {*[1, 2], *{2, 3}} == {1, 2, 3}, {**{"a": 1}, "b": 2, **{"a": 3}})
for i, (x, *y) in enumerate([(1, 2, 3), "ab"]):
    print(i, x, y)
print([x + sum(y) for x, *y in [(1, 2, 3), (4,)]])
def g():
    return *[1, 2], 3
print(g())
l = [0] * 5
l[0], l[1:3], *l[3:] = 1, (2, 3), 4, 5
print(l)
for bad in lambda: (lambda a, b: a)(*[1]), lambda: f(**{"k": 1}, k=2):
    try:
        print(bad())
    except TypeError as e:
        print("TypeError")
for values in [1], [1, 2, 3, 4]:
    try:
        a, b, *c = values
        print(a, b, c)
        a, b = values
    except ValueError as e:
        print(e)
n = 0
def count():
    global n, fresh
    n += 1
    fresh = n * 10
    def inner():
        global n
        nonlocal_value = n
        def innermost():
            nonlocal nonlocal_value
            nonlocal_value += 100
            return nonlocal_value
        return innermost() + innermost()
    return inner()
print(count(), n, fresh, count(), n, fresh)
data = [1, 2, 3, 4]
print([y for x in data if (y := x * x) > 4], y, (m := max(data)) + m, m)
while (k := len(data)) > 2:
    data.pop()
print(k, data, any((hit := v) > 1 for v in data), hit)
l = list(range(10))
l[::3] = "abcd"
print(l)
del l[1::2], l[-1:0:-2]
print(l)
try:
    l[::2] = [1]
except ValueError as e:
    print(e)
l[::-1] = range(len(l))
print(l)
