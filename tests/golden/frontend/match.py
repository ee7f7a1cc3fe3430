def f(v):
    match v:
        case [1, *rest] if rest:
            return rest
        case {"k": (0 | 2) as k}:
            return k
        case C(a, b=None):
            return a
