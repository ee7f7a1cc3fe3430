"""Tensors of one memory that a compiled segment returns, or that a graph break lies behind, go on sharing it."""
import torch
import torch._dynamo

T = torch.arange(6.).reshape(2, 3)


def same(f):
    """Compiled as not: values, strides, and what an update of one result does to the others."""
    torch._dynamo.reset()
    for k in range(3):
        x, y = T.clone(), T.clone()
        got, want = torch.compile(f)(x), f(y)
        for results in (got, want):
            if k < len(results):
                results[k].add_(10)
        assert [v.tolist() for v in (*got, x)] == [v.tolist() for v in (*want, y)], (f.__name__, k, got, want)


def whole_and_part(x):
    t = x * 1
    return t, t[1:]


def two_parts(x):
    t = x * 1
    return t[1:], t.view(-1), t.T


def twice(x):
    t = x * 1
    return t, t


def input_and_part(x):
    return x, x[1:]


def rows(x):
    return (x * 2).unbind(0)


def columns(x):
    return (x * 2).split(1, 1)


def behind_break(x):
    t = x * 1
    v = t[1:]
    torch._dynamo.graph_break()
    t.add_(1)
    return t, v


def updated(x):
    t = x * 1
    v, w = t.T, t[:, ::2]
    t[0] = 5
    torch._dynamo.graph_break()
    w.mul_(2)
    return t, v, w


def in_list(x):
    t = x * 1
    both = {'t': [t], 'v': t[0]}
    torch._dynamo.graph_break()
    both['v'].add_(1)
    return both['t'][0], both['v']


def looked_up(x):
    t = x * 1
    v = t[1:]
    t[torch.tensor([1, 0])] = x
    return t, v


def detached(x):
    t = x * 1
    v = t.detach()
    torch._dynamo.graph_break()
    v.add_(1)
    return t, v


def same_shape(x):
    t = x * 1
    t.expand_as(t).add_(1)
    t.broadcast_to(2, 3).mul_(2)
    t.type_as(x).add_(1)
    return t, t.T


def diagonal(x):
    t = x * 1
    v = t[1:]
    t.diagonal().zero_()
    return t, v


for f in (whole_and_part, two_parts, twice, input_and_part, rows, columns, behind_break, updated, in_list, looked_up, detached,
          same_shape, diagonal):
    same(f)

assert T.type_as(T) is T

# Gradients go through what is shared.
x = T.clone().requires_grad_()
t, v = torch.compile(lambda x: (lambda t: (t, t[1:]))(x * 3))(x)
(t.sum() + 2 * v.sum()).backward()
assert x.grad.tolist() == [[3.0] * 3, [9.0] * 3], x.grad
