def f(a, b=2, *args, c, d=4, **kw):
    return a, b, args, c, d, kw
print(f(1, c=3), f(1, 5, 6, 7, c=3, e=9), f(*[1, 2], **{"c": 3}), f(a=1, c=2))
def g(a, /, b, *, c=0):
    return a + b + c
print(g(1, 2), g(1, b=2, c=3))
def h(x, acc=[]):
    acc.append(x)
    return acc
print(h(1), h(2), h(3, []))
print((lambda *a, **k: (a, k))(1, 2, x=3), (lambda: None)(), (lambda a, b=1: a + b)(5))
def doc():
    "docs"
    return doc.__name__
print(doc(), doc.__doc__)
def rec(n):
    return 1 if n == 0 else n * rec(n - 1)
print(rec(15))
def noreturn():
    pass
print(noreturn())
for call in (lambda: f(), lambda: f(1), lambda: g(1), lambda: g(1, 2, 3), lambda: noreturn(1), lambda: g(1, 2, z=3), lambda: f(1, a=2, c=3)):
    try:
        call()
    except TypeError as e:
        print(e)
try:
    (1)()
except TypeError as e:
    print(e)
def early(x):
    for i in range(10):
        if i == x:
            return i
    return -1
print(early(3), early(30), callable(early), callable(3))
print(sorted([5, 3], key=lambda v: v), list(map(lambda a, b: a * b, [1, 2], [3, 4])))
