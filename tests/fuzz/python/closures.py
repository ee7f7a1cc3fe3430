def counter(start=0):
    n = start
    def inc(by=1):
        nonlocal n
        n += by
        return n
    def get():
        return n
    return inc, get
inc, get = counter(10)
print(inc(), inc(5), get(), counter()[1]())
def adder(a):
    return lambda b: lambda c: a + b + c
print(adder(1)(2)(3))
def memo(f):
    cache = {}
    def g(n):
        if n not in cache:
            cache[n] = f(n)
        return cache[n]
    return g
@memo
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(40))
g = 1
def set_global():
    global g
    g = 2
set_global()
print(g)
def late():
    return later()
def later():
    return "later"
print(late())
def shadow(x):
    def inner():
        return x
    x = x + 1
    return inner()
print(shadow(1))
def unbound():
    print(v)
    v = 1
try:
    unbound()
except UnboundLocalError as e:
    print(type(e).__name__)
try:
    print(undefined_name)
except NameError as e:
    print(e)
def compose(*fs):
    def run(x):
        for f in reversed(fs):
            x = f(x)
        return x
    return run
print(compose(str, lambda x: x + 1, abs)(-5))
