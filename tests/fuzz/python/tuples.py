t = 1, "a", 2.5
print(t, t[0], t[-1], t[1:], len(t), (1,), (), t + (3,), (1, 2) * 2, t == (1, "a", 2.5), (1, 2) < (1, 2, 0))
a, b, c = t
a, b = b, a
print(a, b, c, t.index("a"), t.count(1), 2.5 in t, tuple([1, 2]), tuple("ab"), tuple(range(3)))
def f():
    return 1, 2
x, y = f()
print(x, y, f(), *f(), sep="-")
print({(1, 2): "v"}[(1, 2)], ((1, 2), (3, (4,))))
try:
    t[0] = 5
except TypeError as e:
    print(e)
try:
    a, b = 1, 2, 3
except ValueError as e:
    print(e)
try:
    a, b, c = 1, 2
except ValueError as e:
    print(e)
try:
    a, b = 5
except TypeError as e:
    print(e)
