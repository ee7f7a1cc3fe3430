def trace(f):
    def g(*a, **k):
        print("call", f.__name__, a, k)
        return f(*a, **k)
    return g
def times(n):
    def deco(f):
        return lambda *a: [f(*a) for _ in range(n)]
    return deco
@trace
def add(a, b=1): return a + b
@times(2)
@times(3)
def one(): return 1
print(add(1), add(1, b=5), one())
class Reg:
    items = {}
    @classmethod
    def add(cls, name):
        def deco(f):
            cls.items[name] = f
            return f
        return deco
@Reg.add("x")
def fx(): return "fx"
print(Reg.items["x"](), fx(), list(Reg.items))
from functools import partial, reduce
print(partial(add, 10)(), partial(add, b=2)(5), reduce(lambda a, b: a * b, [1, 2, 3, 4]), reduce(lambda a, b: a + b, [], 7))
