"""Files beside this one: a package, relative and absolute imports."""
import torch

import neighbours.shapes
from neighbours.scaled import Scaled
from neighbours import Scaled as same
from .neighbours.parts import gates

try:
    import neighbours.absent
except ImportError:
    absent = True

rows = 8
assert absent and same is Scaled and not neighbours.shapes.raise_here
assert Scaled.__module__ == "neighbours.scaled"


class Model(Scaled):
    def forward(self, x):
        return gates.gate(super().forward(x))


def get_init_inputs():
    return [4]


def get_inputs():
    return [torch.randn(rows, 4)]
