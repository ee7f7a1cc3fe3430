"""torch and torch.nn.functional: convolutions. Each is one operator, `convolution` of graph/ops.def."""
from _warpsmith import op

_convolution, _pad = op('convolution'), op('pad')


def _list(v):
    return [v] if isinstance(v, int) else list(v)


def same_padding(taps, dilation):
    """How many zeros before each dimension and how many behind it keep its size; what is odd goes behind."""
    all = [d * (k - 1) for d, k in zip(dilation * len(taps) if len(dilation) == 1 else dilation, taps)]
    return [a // 2 for a in all], [a - a // 2 for a in all]


def _forward(n, input, weight, bias, stride, padding, dilation, groups):
    stride, dilation = _list(stride), _list(dilation)
    if padding == 'same':
        if any([s != 1 for s in stride]):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        padding, behind = same_padding(list(weight.shape[2:]), dilation)
        if padding != behind:
            more = [b - p for p, b in zip(padding, behind)]
            input = _pad(input, [v for m in more[::-1] for v in (0, m)])
    elif isinstance(padding, str):
        if padding != 'valid':
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        padding = 0
    return _convolution(input, weight, bias, stride, _list(padding), dilation, False, [0], groups, n)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _forward(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _forward(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _forward(3, input, weight, bias, stride, padding, dilation, groups)


def _transposed(n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    return _convolution(input, weight, bias, _list(stride), _list(padding), _list(dilation), True,
                        _list(output_padding), groups, n)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_tbc(input, weight, bias, pad=0):
    """Of (steps, batch, channels), by a weight of (taps, channels, outputs)."""
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)
