"""torch.ops.aten: an operator by its name, whose overloads are one.

    torch.ops.aten.add.Tensor(x, y, alpha=2)    torch.add(x, y, alpha=2)

It is looked for in torch._aten, then in torch, torch._C._nn and among the methods of tensors."""
import torch
import torch._aten
import torch._C._nn
from _warpsmith import refuse


class Operator:
    """torch.ops.aten.NAME, and each of its overloads."""

    def __init__(self, name, function):
        self.__name__, self.function = name, function

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    def __getattr__(self, overload):
        if overload[:2] == '__':
            raise AttributeError(overload)
        return self


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    for module in (torch._aten, torch, torch._C._nn):
        function = getattr(module, name, None)
        if function is not None:
            return Operator(name, function)
    if hasattr(torch.Tensor, name):
        return Operator(name, lambda self, *args, **kwargs: getattr(self, name)(*args, **kwargs))
    refuse(f'operator torch.ops.aten.{name} is not supported')
