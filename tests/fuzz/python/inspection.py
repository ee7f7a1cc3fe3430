import inspect


def f(a, b=2, *args, c, d=4, **kw):
    pass


class A:
    def __init__(self, x, y=1):
        pass

    def method(self, z):
        pass

    def __call__(self, q):
        pass


for what in (f, A, A(1).method, A.method, A(1), lambda p, /, r=None: 0):
    s = inspect.signature(what)
    print([(p.name, int(p.kind), p.default if p.default is not inspect.Parameter.empty else '-') for p in s.parameters.values()])
print('b' in inspect.signature(f).parameters, 'z' in inspect.signature(f).parameters, list(inspect.signature(A).parameters))
print(inspect.isclass(A), inspect.isclass(f), inspect.isfunction(f), inspect.isfunction(A), inspect.ismethod(A(1).method), inspect.ismethod(f))
