"""Classes and modules that a call makes."""
import sys
import types

import torch


class Rated:
    def __init_subclass__(cls, rate=0):
        cls.rate = rate


A = type('A', (), {'x': 3, 'f': lambda self: self.x + 1})
B = type('B', (A, Rated), dict(y=5), rate=7)
print(A.__name__, A().f(), isinstance(A(), A), B().y, B().f(), B.rate, [c.__name__ for c in B.__mro__])
Layer = type('Layer', (torch.nn.Linear,), {'forward': lambda self, x: torch.nn.Linear.forward(self, x) * 0 + self.in_features})
print(Layer(2, 3)(torch.ones(1, 2)).tolist(), Layer(2, 3))
for wrong in (('A', 3), ('A', (), 3), (3, (), {})):
    try:
        type(*wrong)
    except TypeError:
        print('TypeError')
made = types.ModuleType('made_here', 'of no file')
made.scale = lambda x: x * 2
sys.modules['made_here'] = made
import made_here
from made_here import scale
print(scale(3), made_here.__name__, made_here.__doc__, made_here is made, isinstance(made, types.ModuleType), sys.getdefaultencoding())
