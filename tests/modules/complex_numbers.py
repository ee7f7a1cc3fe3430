"""1j and complex(a, b) with tensors, names that are imported and not used, unions of types, SyncBatchNorm of one process."""
import functools
import inspect
from types import FunctionType, MethodType, ModuleType

import torch
from torch import nn
from torch._dynamo.utils import is_compile_supported
from torch.hub import _get_torch_home
from torch.onnx import is_in_onnx_export

rows = 4
Range = int | tuple[int, int]
Some = None | int | float
assert isinstance(3, Some) and isinstance(None, Some) and not isinstance('', Some) and isinstance(3, int | str)
z = 1j * 2 + 3
assert z == 3 + 2j and abs(3 + 4j) == 5 and 1j ** 2 == -1 and isinstance(z, complex) and not isinstance(1.0, complex)
twice = functools.partial(functools.partial(int, base=2))
assert twice.func is int and twice('11') == 3


def keyword(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


@keyword
def wave(x, *, phase=0.0):
    return (1j * x + 1j * phase).exp()


assert [p.kind for p in inspect.signature(wave).parameters.values()][1] == inspect.Parameter.KEYWORD_ONLY


@torch.jit.ignore()
def halved(x):
    return x / 2


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(5)))
        assert type(self.norm[0]) is nn.SyncBatchNorm and isinstance(wave, FunctionType) and not is_in_onnx_export()
        assert self.__module__ == type(self).__module__ and isinstance(torch, ModuleType)

    def forward(self, x):
        x = halved(self.norm.eval()(x))
        e = wave(x, phase=0.5)
        mean = e.mean(dim=0)
        quotient = (2 - e * (1 + 2j)) / (1j * x + 2)
        return mean.abs(), [torch.view_as_real(c) for c in (mean, quotient, 1 / (x + 1j), e + x, e ** 2, x - 2j)]


def get_inputs():
    return [torch.randn(rows, 5)]
