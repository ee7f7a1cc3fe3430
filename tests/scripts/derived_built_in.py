# Classes derived from property, type and ModuleType, and from Generic twice; exceptions by all their names; functions that are
# async may be there; what inspect says of a function; a module by another name.
import uuid
from types import ModuleType


class classproperty(property):
    def __get__(self, instance, owner):
        return self.fget(owner)


class Doubled(property):
    def __get__(self, instance, owner=None):
        return self if instance is None else 2 * super().__get__(instance, owner)


class A:
    n = 3

    @classproperty
    def size(cls):
        "how many"
        return cls.n + 1

    @Doubled
    def x(self):
        return self._x

    @x.setter
    def x(self, v):
        self._x = v


a = A()
a.x = 5
print(A.size, a.size, a.x, type(A.x).__name__, A.x.fget is not None)


class Singleton(type):
    made = {}

    def __iter__(cls):
        return iter([cls.__name__, 1])


class One(metaclass=Singleton):
    pass


class Lazy(ModuleType):
    def __init__(self, name):
        super().__init__(name)
        self.parts = 2


print(list(One), Lazy('x').parts, len(uuid.uuid4().hex), str(uuid.uuid4()).count('-'))
for e in (IOError('a'), UnicodeDecodeError, ConnectionResetError('b'), IsADirectoryError('c')):
    print(isinstance(e, OSError), isinstance(e, type) and issubclass(e, ValueError))
try:
    raise EnvironmentError('gone')
except OSError as e:
    print(type(e).__name__, e)


async def fetch(x):
    async with x as y:
        async for z in y:
            await z
    return [w async for w in x]


class Client:
    @property
    async def later(self): return await 3

    async def get(self):
        '''text'''
        await self.later


print(fetch.__name__, hasattr(Client, 'get'))

import inspect
import sys
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import numpy as np
import torch

T = TypeVar('T')


class Base(Generic[T], torch.nn.Module, ABC):
    pass


class Mixed(Generic[T], Base[T], torch.nn.Module):
    def __init__(self, n, *rest, size=2, **more):
        super().__init__()
        self.n = n

    def forward(self, x, y=1):
        return x * self.n


print([c.__name__ for c in Mixed.__mro__ if c.__name__ in ('Mixed', 'Base', 'Module', 'Generic', 'ABC')], Mixed(2)(3))


def f(a, b=2, *, c, d=4):
    pass


for of in (f, Mixed, Mixed(1).forward, lambda: 0):
    spec = inspect.getfullargspec(of)
    print(spec.args, spec.varargs, spec.varkw, spec.defaults, spec.kwonlyargs, spec[5])
import math
sys.modules['made.of.math'] = math
from made.of.math import sqrt
print(sqrt(4.0), np.str_('a') == 'a')
from torch.distributions.utils import broadcast_all, clamp_probs, logits_to_probs, probs_to_logits
p = torch.tensor([0.25, 0.75])
print(probs_to_logits(p), probs_to_logits(p, True), logits_to_probs(p), logits_to_probs(p, is_binary=True), [x.shape for x in broadcast_all(1.0, p)])
