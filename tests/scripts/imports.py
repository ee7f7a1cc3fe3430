"""What models import besides torch."""
from __future__ import annotations

import argparse
import collections.abc
import copy
import inspect
import logging
import math
import operator
import os
import random
import warnings
from abc import ABC, abstractmethod
from collections import OrderedDict, defaultdict, deque, namedtuple
from contextlib import nullcontext
from functools import partial, reduce
from types import SimpleNamespace
from typing import NamedTuple, Optional, cast

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

Pair = namedtuple('Pair', ('left', 'right'))
Point = namedtuple('Point', 'x y z', defaults=[3])


class Sizes(NamedTuple):
    width: int
    height: int = 2


class Base(ABC):
    @abstractmethod
    def area(self):
        return 0


class Square(Base):
    def area(self):
        return 4


p = Pair(1, right=2)
left, right = p
print(p, p.left, p[1], len(p), left + right, p._replace(left=5), p._asdict(), Point(1, 2), Point(*[4, 5, 6]).z)
print(Sizes(3), Sizes(3, 4).height, [v for v in Sizes(1)], Square().area())
try:
    Pair(1)
except TypeError as error:
    print('TypeError', error)

groups = defaultdict(list)
for v in range(5):
    groups[v % 2].append(v)
print(sorted(groups.items()), 3 in groups, len(groups))
last = deque(maxlen=3)
for v in range(5):
    last.append(v)
print(list(last), last.popleft(), last[0], len(last))
print(OrderedDict([('a', 1)])['a'], SimpleNamespace(a=1, b='c').b, operator.mul(3, 4), reduce(operator.add, [1, 2, 3]))
print(partial(max, 3)(5), cast(Optional[int], 3), math.isclose(0.1 + 0.2, 0.3), math.factorial(5), math.isqrt(17),
      math.hypot(3, 4), math.isfinite(math.inf), round(math.atan2(1, 1), 6), round(math.gamma(4.5), 6))
print(isinstance([1], collections.abc.Iterable), isinstance(3, collections.abc.Iterable))
warnings.warn('nothing')
logging.getLogger(__name__).info('nothing')

layer = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
twin = copy.deepcopy(layer)
with torch.no_grad():
    twin[0].weight.zero_()
with nullcontext():
    print(len(list(twin.parameters())), twin[0].weight.sum().item(), layer[0].weight.abs().sum().item() > 0)
x = torch.ones(2, 3)
print(torch.equal(checkpoint(layer, x, use_reentrant=False), layer(x)))
print(torch.jit.is_scripting())
print(sorted(k for k in torch.optim.__dict__ if k in ('SGD', 'Adam', 'AdamW')), 'StepLR' in torch.optim.lr_scheduler.__dict__)
