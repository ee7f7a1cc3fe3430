# captured: 20 graphs, 14 breaks
"""Graph breaks of every kind: what was live goes on living, and output keeps its order."""
import torch


def check(f, *args):
    """The same with and without compiling, twice, so that the second call finds what the first left."""
    compiled = torch.compile(f)
    want = f(*args)
    for _ in range(2):
        got = compiled(*args)
        assert type(got) is type(want), (f.__name__, got, want)
        if isinstance(want, torch.Tensor):
            assert torch.allclose(got, want), (f.__name__, got, want)
        else:
            assert got == want, (f.__name__, got, want)


x = torch.arange(6, dtype=torch.float32) - 2


def mid_expression(x):
    return x.sin() + x.sum().item() * x.cos()


check(mid_expression, x)


def in_a_loop(x):
    total = x * 0
    for i in range(3):
        y = x * i
        if y.sum() > 2:
            total = total + y
        else:
            total = total - y
    return total


check(in_a_loop, x)


def in_a_loop_over_a_list(x):
    kept = []
    for name, scale in [('a', 1.0), ('b', 2.0)]:
        z = (x * scale).relu()
        kept.append((name, float(z.max())))
    return kept


check(in_a_loop_over_a_list, x)


def with_try(x):
    out = x + 1
    try:
        if out.sum() > 1000:
            return out
        raise ValueError('small')
    except ValueError as e:
        out = out * len(str(e))
    finally:
        out = out + 1
    return out


check(with_try, x)


def helper(x):
    y = x * 3
    if y.min() < 0:
        y = -y
    return y + 1


def in_a_call(x):
    a = x.exp()
    b = helper(a - 2)
    return b * a


check(in_a_call, x)


def closes_over(x):
    scale = 2

    def inner(v):
        nonlocal scale
        scale = scale + 1
        return v * scale
    y = inner(x)
    n = y.sum().item()
    return inner(y) + n * scale


check(closes_over, x)


def containers(x):
    state = {'x': x, 'parts': [x + 1, (x + 2, 'two')]}
    size = int(state['parts'][0].sum())
    state['parts'].append(size)
    return [state['parts'][-1], len(state['parts']), state['parts'][1][1]]


check(containers, x)


def sorts(x):
    rows = sorted([x, x.cos(), x * 2], key=lambda t: t.sum())
    return rows[0] + 2 * rows[1]


check(sorts, x)


@torch.compile
def prints(x):
    y = x.sin()
    print('one', y.shape, tuple(y.shape), y.dtype)
    z = y + 1
    print(f'two {z.sum():.4f}')
    return z


prints(x)
prints(x)
