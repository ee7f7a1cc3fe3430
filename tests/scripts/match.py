"""match statements in compiled functions: what a pattern has read is guarded."""
from dataclasses import dataclass
from enum import Enum

import torch


class Mode(Enum):
    SUM = 0
    MEAN = 1


@dataclass
class Scale:
    by: float


@torch.compile
def apply(x, what):
    match what:
        case Mode.SUM:
            return x.sum()
        case Mode():
            return x.mean()
        case Scale(by=0):
            return torch.zeros_like(x)
        case Scale(by):
            return x * by
        case ['pad', (before, after)]:
            return torch.nn.functional.pad(x, (before, after))
        case [first, *rest]:
            return x * first + len(rest)
        case {'bias': b, **others}:
            return x + b + len(others)
        case None:
            return x
        case str() | int():
            return x.neg()


x = torch.arange(3.)
for what in (Mode.SUM, Mode.MEAN, Scale(0), Scale(2.), Scale(3.), ['pad', (1, 0)], ['pad', (1, 2)], (4., 5, 6), {'bias': 1.},
             {'bias': 2., 'more': 0}, None, 'text', 7, Mode.SUM, Scale(2.)):
    print(what if not isinstance(what, float) else '-', apply(x, what))


@torch.compile(fullgraph=True)
def by_shape(x):
    match x.shape:
        case (n,):
            return x * n
        case (n, m):
            return x.sum(0) + n - m
        case [*_, last]:
            return x.sum() / last


print(by_shape(x), by_shape(x[None]), by_shape(torch.ones(2, 2, 4)))
