"""Objects of classes derived from built-in types, in compiled functions: what was read of them is guarded."""
from enum import Enum, IntEnum

import torch


class Mode(str, Enum):
    ADD = 'add'
    SUB = 'sub'


class Axis(IntEnum):
    ROWS = 0
    COLUMNS = 1


class Config(dict):
    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(name)

    def __setattr__(self, name, value):
        self[name] = value


config = Config(scale=2.0, mode=Mode.ADD)


@torch.compile
def apply(x, c, mode):
    if mode == 'add':
        return x * c.scale
    return x - c['scale'] if c.mode == Mode.SUB else x + c['scale']


x = torch.ones(3)
print(apply(x, config, Mode.ADD), apply(x, config, Mode.SUB))
config.scale = 5.0
print(apply(x, config, Mode.ADD), apply(x, config, Mode.SUB))
config.mode = Mode.SUB
print(apply(x, config, Mode.SUB), apply(x, config, 'add'), apply(x, config, Mode.ADD))


@torch.compile
def along(x, axis):
    return x.sum(axis) * axis + x.shape[axis]


grid = torch.arange(6.).reshape(2, 3)
print(along(grid, Axis.ROWS), along(grid, Axis.COLUMNS))


class Layers(list):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor


@torch.compile
def make(x):
    made = Config(a=x * 2)
    made.b = made.a + 1
    layers = Layers(3)
    layers.append(x * layers.factor)
    return made, layers


for _ in range(2):
    made, layers = make(x)
    print(type(made).__name__, made.b, made, type(layers).__name__, layers.factor, layers)

size = torch.zeros(2, 3).shape
print(type(size), isinstance(size, tuple), torch.Size([2, 3]) == size, size + (1,), (1,) + size, size[:1], torch.Size().numel())

# A comparison gives what its method gives, of whichever side.
class Compared:
    def __lt__(self, other): return 'lt', other
    def __gt__(self, other): return ['gt', other]
    def __eq__(self, other): return 'eq'
print(Compared() < 2, 3 < Compared(), Compared() == 2, 2 == Compared(), 1 != Compared(), [Compared()] == [2])
