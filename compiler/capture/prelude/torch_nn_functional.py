"""torch.nn.functional: what is not an operator of graph/ops.def by itself."""

import torch
from _warpsmith import op, refuse
_softmax, _log_softmax = op('softmax'), op('log_softmax')


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        refuse('F.softmax needs dim')
    return _softmax(input, dim, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        refuse('F.log_softmax needs dim')
    return _log_softmax(input, dim, dtype)


def dropout(input, p=0.5, training=True, inplace=False):
    if training and p > 0:
        refuse('dropout in training mode is not supported; call .eval() on the module, or set p=0')
    return input


dropout1d = dropout2d = dropout3d = alpha_dropout = dropout


def glu(input, dim=-1):
    a, b = input.chunk(2, dim)
    return a * torch.sigmoid(b)
