"""What public files import and derive beside the model, and their forward never uses."""
import argparse
from collections.abc import Collection

import lightning_like as fit
import torch
from kernels_like import Config
from torch.cuda.amp import grad_scaler
from torch.nn.modules.module import _absent_part

assert [int(n) for n in fit.__version__.split('.')] == [0, 0, 0] and torch.version.hip is None


class Options(fit.Base):
    rate: float


@fit.option(Options.rate, 'default')
def rate(c: Options):
    return c.rate


class Parse(argparse.Action):
    pass


class Scaler(grad_scaler.GradScaler):
    pass


class Epochs(Collection):
    def __len__(self):
        return 2


def configs():
    return [Config({'width': width}) for width in (1, 2)]


ALL = configs()


def forward(x):
    return x * len(Epochs()) + torch.are_deterministic_algorithms_enabled()


def get_inputs():
    return [torch.randn(4)]
