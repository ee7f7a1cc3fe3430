"""torch.nn: layers of convolutions."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from _warpsmith import Parameter


def _tuple(v, n):
    return (v,) * n if isinstance(v, int) else tuple(v)


class _ConvNd(nn.Module):
    """Subclasses say over how many dimensions (n) they slide."""

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding,
                 groups, bias, padding_mode, device, dtype):
        super().__init__()
        if groups <= 0:
            raise ValueError('groups must be a positive integer')
        if in_channels % groups:
            raise ValueError('in_channels must be divisible by groups')
        if out_channels % groups:
            raise ValueError('out_channels must be divisible by groups')
        if isinstance(padding, str) and padding not in ('same', 'valid'):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
        if padding_mode not in ('zeros', 'reflect', 'replicate', 'circular'):
            raise ValueError(f"padding_mode must be one of {{'zeros', 'reflect', 'replicate', 'circular'}}, "
                             f"but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = _tuple(kernel_size, self._ws_n), _tuple(stride, self._ws_n)
        self.padding = padding if isinstance(padding, str) else _tuple(padding, self._ws_n)
        self.dilation, self.transposed = _tuple(dilation, self._ws_n), transposed
        self.output_padding, self.groups, self.padding_mode = _tuple(output_padding, self._ws_n), groups, padding_mode
        if padding == 'same' and any([s != 1 for s in self.stride]):
            raise ValueError("padding='same' is not supported for strided convolutions")
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(torch.empty(*channels, *self.kernel_size, dtype=dtype))
        self.bias = Parameter(torch.empty(out_channels, dtype=dtype)) if bias else None
        self._reversed_padding_repeated_twice = self._pads()
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.kaiming_uniform_(self.weight, math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight.size(1) * math.prod(self.kernel_size))
            nn.init.uniform_(self.bias, -bound, bound)

    def _pads(self):
        """[before, after] of the last dimension, then of the one before, as F.pad wants them."""
        before = after = self.padding
        if self.padding == 'valid':
            before = after = (0,) * self._ws_n
        if self.padding == 'same':
            before, after = F.same_padding(self.kernel_size, self.dilation)
        return [v for b, a in zip(before[::-1], after[::-1]) for v in (b, a)]

    def extra_repr(self):
        text = f'{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}'
        for name, usual in (('padding', 0), ('dilation', 1), ('output_padding', 0)):
            value = getattr(self, name)
            if value != (usual,) * self._ws_n:
                text += f', {name}={value}'
        if self.groups != 1:
            text += f', groups={self.groups}'
        if self.bias is None:
            text += ', bias=False'
        if self.padding_mode != 'zeros':
            text += f', padding_mode={self.padding_mode}'
        return text


class _Forward(_ConvNd):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode='zeros', device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias,
                         padding_mode, device, dtype)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != 'zeros':
            input, padding = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode), 0
        convolve = (F.conv1d, F.conv2d, F.conv3d)[self._ws_n - 1]
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Forward):
    _ws_n = 1


class Conv2d(_Forward):
    _ws_n = 2


class Conv3d(_Forward):
    _ws_n = 3


class _ConvTransposeNd(_ConvNd):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1,
                 bias=True, dilation=1, padding_mode='zeros', device=None, dtype=None):
        if padding_mode != 'zeros':
            raise ValueError('Only "zeros" padding mode is supported for ' + type(self).__name__)
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding,
                         groups, bias, padding_mode, device, dtype)

    def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
        """The output_padding that makes the result of that size."""
        if output_size is None:
            return self.output_padding
        least = [(s - 1) * t - 2 * p + d * (k - 1) + 1 for s, t, p, d, k in
                 zip(input.shape[-self._ws_n:], stride, padding, dilation or (1,) * self._ws_n, kernel_size)]
        more = [s - l for s, l in zip(list(output_size)[-self._ws_n:], least)]
        for m, step in zip(more, stride):
            if not 0 <= m < step:
                most = [l + t - 1 for l, t in zip(least, stride)]
                raise ValueError(f'requested an output size of {output_size}, but valid sizes range from {least} to '
                                 f'{most} (for an input of {input.shape[2:]})')
        return more

    def forward(self, input, output_size=None):
        more = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, self._ws_n, self.dilation)
        convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self._ws_n - 1]
        return convolve(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    _ws_n = 1


class ConvTranspose2d(_ConvTransposeNd):
    _ws_n = 2


class ConvTranspose3d(_ConvTransposeNd):
    _ws_n = 3
