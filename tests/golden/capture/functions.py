"""Calls of every kind, closures, comprehensions, loops; none of it is in the graph."""
import math
from functools import partial, reduce
from typing import List, Optional

import torch

W = torch.randn(8, 8)
scales: List[float] = [0.5, 2.0]


def make_adder(n):
    count = 0

    def add(x, *rest, times=1, **named):
        nonlocal count
        count += 1
        for _ in range(times):
            x = x + n
        for r in rest:
            x = x - r
        return x * sum(named.values()) if named else x

    return add


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@torch.no_grad()
def helper(x, y: Optional[torch.Tensor] = None, /, *, alpha=3):
    return x if y is None else x + alpha * y


@torch.compile(fullgraph=True)
def functions(x, y):
    add3 = make_adder(3)
    x = add3(x, y, times=2)
    x = add3(x, *[y, y], **{"a": 1, "b": fibonacci(6)})
    parts = [x * s for i, s in enumerate(scales) if s > 0]
    total = reduce(lambda a, b: a + b, parts)
    for a, (b, c) in zip(parts, [(1, 2), (3, 4)]):
        total = total + a * (b + c)
    i = 0
    while True:
        i += 1
        if i == 2:
            continue
        if i > 3:
            break
        total = total - i
    else:
        total = total * 1000
    table = {name: len(name) for name in ("sin", "cosine")}
    first, *middle, last = sorted(table.items(), key=lambda kv: -kv[1])
    double = partial(helper, alpha=table["sin"])
    with torch.no_grad():
        total = double(total, y) * first[1] / math.sqrt(last[1])
    label = f"{total.shape} {x.dtype} {table!r} {math.pi:.3f} {7:03d}"
    assert label == "torch.Size([4, 8]) torch.float32 {'sin': 3, 'cosine': 6} 3.142 007", label
    print("a constant", label)
    return total @ W, tuple(t.sum() for t in parts)


def get_inputs():
    return [torch.randn(4, 8), torch.ones(4, 8)]
