from neighbours.parts import gates
from .parts.gates import FACTOR, Gate as Gated
from . import shapes
import neighbours

__all__ = ["Scaled"]
SHIFT = shapes.torch.full((4,), 0.5)


class Scaled(Gated):
    def forward(self, x):
        from .parts.gates import gate

        assert gates is neighbours.parts.gates
        return super().forward(x) + gate(x) * FACTOR + SHIFT
