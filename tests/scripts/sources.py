"""The text of functions and classes; copies by pickle; scipy's normal distribution."""
import inspect
import io
import pickle

from scipy import stats


class First:
    def one(self): return 1


class FirstOfAll(First):
    """Of two lines."""

    def two(self,
            more=0
            ):
        # what it is

        return 2 + more

    def __reduce__(self):
        made, args, fields = super().__reduce__()
        return made, args, {**fields, 'seen': True}


def plain(x):
    return x + 1


print(inspect.getsource(plain), inspect.getsource(FirstOfAll.two), inspect.getsource(First), sep='|')
print(inspect.getsource(inspect.getmodule(plain)).count('def plain'))
a = FirstOfAll()
a.rows = [1, {'two': 2}]
with io.BytesIO() as file:
    pickle.dump(a.rows, file)
    file.seek(0)
    b = pickle.load(file)
    c = pickle.loads(pickle.dumps(b))
b.append(3)
print(a.rows, b, c, b[1] is c[1], sorted(a.__reduce__()[2]))
print(round(stats.truncnorm.std(a=-2, b=2, loc=0, scale=1), 6), round(stats.truncnorm.mean(0, 1, 2, 3), 6), round(float(stats.norm.ppf(0.975)), 6), round(float(stats.norm.cdf(1.0)), 6))
x = stats.truncnorm.rvs(-1, 2, loc=5, scale=2, size=100)
print(x.shape, bool((x >= 3).all() and (x <= 9).all()))
def f(a, b=2, *rest, c, d: int = 4, **more) -> str:
    return a, b, rest, c, d, more
s = inspect.signature(f)
b = s.bind(1, c=3, x=9)
print(b.arguments, b.args, b.kwargs)
b.apply_defaults()
print(dict(b.arguments), b.args, b.kwargs, f(*b.args, **b.kwargs))
b = s.bind(1, 5, 6, 7, c=3)
print(dict(b.arguments), f(*b.args, **b.kwargs))
for args, kwargs in (((), {'c': 1}), ((1,), {}), ((1,), {'a': 2, 'c': 3})):
    try:
        s.bind(*args, **kwargs)
    except TypeError as error:
        print(error)
print(s.bind_partial().arguments == {}, s.parameters['a'].kind == inspect.Parameter.POSITIONAL_OR_KEYWORD)
g = lambda x, y=1: (x, y)
p = inspect.signature(g).bind_partial(y=3)
print(p.args, p.kwargs)
try:
    inspect.signature(g).bind(1, 2, 3)
except TypeError as error:
    print(error)
try:
    inspect.signature(g).bind(1, z=3)
except TypeError as error:
    print(error)
