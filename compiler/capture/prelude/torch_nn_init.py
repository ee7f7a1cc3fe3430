"""torch.nn.init: random values come from the streams of the init graph."""

import math

import torch
from _warpsmith import set_grad_mode


def _quietly(function):
    """Parameters are leaves: what initialises them is no part of a gradient."""
    def run(*args, **kwargs):
        before = set_grad_mode(False)
        try:
            return function(*args, **kwargs)
        finally:
            set_grad_mode(before)
    return run


@_quietly
def zeros_(tensor):
    return tensor.zero_()


@_quietly
def ones_(tensor):
    return tensor.fill_(1.0)


@_quietly
def constant_(tensor, val):
    return tensor.fill_(val)


@_quietly
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    return tensor.uniform_(a, b)


@_quietly
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    return tensor.normal_(mean, std)


@_quietly
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    return tensor.copy_((torch.randn_like(tensor) * std + mean).clamp(a, b))


@_quietly
def eye_(tensor):
    return tensor.copy_(torch.eye(*tensor.shape))


@_quietly
def dirac_(tensor, groups=1):
    """In every group, channel k of the output is channel k of the input."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError('Only tensors with 3, 4, or 5 dimensions are supported')
    n = tensor.size(0) // groups
    middle = tuple([k // 2 for k in tensor.shape[2:]])
    made = torch.zeros_like(tensor)
    for g in range(groups):
        for k in range(min(n, tensor.size(1))):
            made[(g * n + k, k) + middle] = 1.0
    return tensor.copy_(made)


@_quietly
def sparse_(tensor, sparsity, std=0.01, generator=None):
    if tensor.ndim != 2:
        raise ValueError('Only tensors with 2 dimensions are supported')
    n = math.ceil(sparsity * tensor.size(0))
    hidden = torch.rand_like(tensor).argsort(0).argsort(0) < n
    return tensor.copy_((torch.randn_like(tensor) * std).masked_fill(hidden, 0.0))


@_quietly
def orthogonal_(tensor, gain=1, generator=None):
    """Rows, or columns where there are fewer, made orthogonal one after the other (Gram and Schmidt, twice each)."""
    if tensor.ndim < 2:
        raise ValueError('Only tensors with 2 or more dimensions are supported')
    rows, columns = tensor.size(0), math.prod(tensor.shape[1:])
    x = torch.randn(min(rows, columns), max(rows, columns))
    basis = torch.zeros_like(x)
    for i in range(x.size(0)):
        row = x[i]
        for _ in range(2):
            row = row - (basis @ row) @ basis
        basis[i] = row / row.norm()
    return tensor.copy_(((basis.T if rows > columns else basis) * gain).reshape(tensor.shape))


def _fans(tensor):
    if tensor.ndim < 2:
        raise ValueError('fan in and fan out can not be computed for tensor with fewer than 2 dimensions')
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


_calculate_fan_in_and_fan_out = _fans


def _calculate_correct_fan(tensor, mode):
    if mode.lower() not in ('fan_in', 'fan_out'):
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of ['fan_in', 'fan_out']")
    return _fans(tensor)[mode.lower() == 'fan_out']


def calculate_gain(nonlinearity, param=None):
    if nonlinearity == 'relu':
        return math.sqrt(2.0)
    if nonlinearity == 'leaky_relu':
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    return 5.0 / 3 if nonlinearity == 'tanh' else 1.0


@_quietly
def xavier_uniform_(tensor, gain=1.0, generator=None):
    fan_in, fan_out = _fans(tensor)
    bound = gain * math.sqrt(6.0 / (fan_in + fan_out))
    return tensor.uniform_(-bound, bound)


@_quietly
def xavier_normal_(tensor, gain=1.0, generator=None):
    fan_in, fan_out = _fans(tensor)
    return tensor.normal_(0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)))


def _deviation(tensor, a, mode, nonlinearity):
    fan_in, fan_out = _fans(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == 'fan_in' else fan_out)


@_quietly
def kaiming_uniform_(tensor, a=0, mode='fan_in', nonlinearity='leaky_relu', generator=None):
    bound = math.sqrt(3.0) * _deviation(tensor, a, mode, nonlinearity)
    return tensor.uniform_(-bound, bound)


@_quietly
def kaiming_normal_(tensor, a=0, mode='fan_in', nonlinearity='leaky_relu', generator=None):
    return tensor.normal_(0.0, _deviation(tensor, a, mode, nonlinearity))


_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_

# As they were called once; PyTorch has these still.
uniform, normal, constant, orthogonal = uniform_, normal_, constant_, orthogonal_
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal = xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_
