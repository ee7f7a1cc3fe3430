"""Parameters of every kind, defaults, closures, decorators, calls."""


def params(a, b=1, /, c=2, *rest, d, e=3, **more):
    return a, b, c, rest, d, e, more


def only_keywords(*, scale: float = 1.0) -> float:
    "What it does."
    return scale


def calls(f, args, options):
    f(1, x=2, y=3)
    f(*args)
    f(*args or options)
    f(1, *args, 2, key=3, **options, last=4)
    return f(i for i in args)


def counter(start):
    count = start

    @wraps(start)
    @outer.register
    def step(by=1):
        nonlocal count
        global total
        count += by
        total = count
        return lambda: count * by

    return step
