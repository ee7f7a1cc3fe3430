"""torch._higher_order_ops: loops whose steps are functions."""
import torch
from torch import cond
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten


def while_loop(cond_fn, body_fn, carried_inputs, additional_inputs=()):
    """How often is known where something computes the condition."""
    carried = tuple(carried_inputs)
    while cond_fn(*carried, *additional_inputs):
        carried = tuple(body_fn(*carried, *additional_inputs))
    return carried


def _stacked(rows, dim):
    """One tree of the rows' trees: their leaves side by side."""
    form = tree_flatten(rows[0])[1]
    return tree_unflatten([torch.stack(of, dim) for of in zip(*[tree_flatten(row)[0] for row in rows])], form)


def _steps(xs, dim, reverse):
    """xs at each place along dim, in the order in which they are taken."""
    n = tree_flatten(xs)[0][0].size(dim)
    return [tree_map(lambda x: x.select(dim, i), xs) for i in (range(n - 1, -1, -1) if reverse else range(n))]


def scan(combine_fn, init, xs, *, dim=0, reverse=False, additional_inputs=()):
    """What is carried at the end, and what each step leaves beside it."""
    carried, rows = init, []
    for x in _steps(xs, dim, reverse):
        carried, row = combine_fn(carried, x)
        rows.append(row)
    return carried, _stacked(rows[::-1] if reverse else rows, dim)


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode='pointwise', additional_inputs=()):
    """What all up to each place combine to: one after the other, as any order may be taken."""
    rows = []
    for x in _steps(xs, dim, reverse):
        rows.append(combine_fn(rows[-1], x) if rows else x)
    return _stacked(rows[::-1] if reverse else rows, dim)
