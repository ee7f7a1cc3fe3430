"""torch.nn.functional: what is not an operator of graph/ops.def by itself."""

import torch
from _warpsmith import op, refuse, assign, set_grad_mode
_softmax, _log_softmax, group_norm = op('softmax'), op('log_softmax'), op('group_norm')
_linear, _embedding = op('linear'), op('embedding')


def linear(input, weight, bias=None):
    if weight.ndim != 1:
        return _linear(input, weight, bias)
    return input @ weight if bias is None else input @ weight + bias


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None:
        torch.embedding_renorm_(weight, input, max_norm, norm_type)
    rows = _embedding(input, weight, padding_idx)
    if not scale_grad_by_freq or not torch.is_grad_enabled():
        return rows
    times = torch.zeros(weight.shape[0], dtype=rows.dtype).index_add(0, input.flatten(), torch.ones(input.numel(), dtype=rows.dtype))
    return rows.detach() + (rows - rows.detach()) / times[input].unsqueeze(-1)


def _softmax_dim(input, dim):
    """Without a dim, what it was before it could be said."""
    return dim if dim is not None else 0 if input.ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    return _softmax(input, _softmax_dim(input, dim), dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    return _log_softmax(input, _softmax_dim(input, dim), dtype)


def _dropped(input, shape, p, training, inplace):
    """input / (1 - p) where a random tensor of that shape says so, else 0."""
    if not 0 <= p <= 1:
        raise ValueError(f'dropout probability has to be between 0 and 1, but got {p}')
    if not training or p == 0:
        return input
    keep = torch.rand(shape) >= p
    out = input * keep * (0.0 if p == 1 else 1 / (1 - p))
    return assign(input, out) if inplace else out


def dropout(input, p=0.5, training=True, inplace=False):
    return _dropped(input, input.shape, p, training, inplace)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Whole channels: dimension 1."""
    return _dropped(input, list(input.shape[:2]) + [1] * (input.ndim - 2), p, training, inplace)


dropout2d = dropout3d = dropout1d


_SELU_END = -1.7580993408473766  # what SELU goes to, far below 0


def _alpha_dropped(input, shape, p, training, inplace):
    """SELU's end where a random tensor of that shape says so; then scaled, so that mean and variance stay as they are."""
    if not 0 <= p <= 1:
        raise ValueError(f'dropout probability has to be between 0 and 1, but got {p}')
    if not training or p == 0:
        return input
    if p == 1:
        return assign(input, input * 0.0) if inplace else input * 0.0
    scale = ((1 - p) * (1 + p * _SELU_END ** 2)) ** -0.5
    out = torch.where(torch.rand(shape) >= p, input, _SELU_END) * scale - scale * p * _SELU_END
    return assign(input, out) if inplace else out


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    return _alpha_dropped(input, input.shape, p, training, inplace)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    return _alpha_dropped(input, list(input.shape[:2]) + [1] * (input.ndim - 2), p, training, inplace)


def glu(input, dim=-1):
    a, b = input.chunk(2, dim)
    return a * torch.sigmoid(b)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    return softmax(-input, dim, dtype=dtype)


_prelu, _leaky_relu, _relu = op('prelu'), op('leaky_relu'), op('relu')


def relu(input, inplace=False):
    return _relu(input, inplace=inplace)


def prelu(input, weight):
    """One weight, or one for each channel: dimension 1."""
    weight = weight.reshape([-1] + [1] * (input.ndim - 2) if weight.numel() != 1 else [])
    return _prelu(input, weight)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    slope = torch.rand_like(input) * (upper - lower) + lower if training else (lower + upper) / 2
    out = torch.where(input >= 0, input, input * slope) if training else _leaky_relu(input, slope)
    return input.copy_(out) if inplace else out


_pad = op('pad')


def pad(input, pad, mode='constant', value=None):
    """Of a mode that repeats what is there, negative ones cut: what is repeated in a circle is what is left."""
    if mode == 'constant' or not [n for n in pad if n < 0]:
        return _pad(input, pad, mode, value)
    if mode != 'circular':
        input = _pad(input, [n if n > 0 else 0 for n in pad], mode, value)
    input = _pad(input, [n if n < 0 else 0 for n in pad])
    return _pad(input, [n if n > 0 else 0 for n in pad], mode, value) if mode == 'circular' else input


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                  momentum=0.1, eps=1e-5):
    if not use_input_stats:
        return _batch_norm(input, running_mean, running_var, weight, bias, False, 0.0, eps)
    if running_mean is not None:
        space = list(range(2, input.ndim))
        before = set_grad_mode(False)
        _update(running_mean, input.mean(space).mean(0), momentum)
        _update(running_var, input.var(space).mean(0), momentum)
        set_grad_mode(before)
    return group_norm(input, input.shape[1], weight, bias, eps)


def _reduction(size_average, reduce, reduction):
    """What the two say that it was before it had a name."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        return 'none'
    return 'mean' if size_average is None or size_average else 'sum'


class _Reduction:
    """Reductions by their numbers."""

    @staticmethod
    def get_enum(reduction):
        if reduction not in ('none', 'mean', 'sum'):
            raise ValueError(f'{reduction} is not a valid value for reduction')
        return ('none', 'mean', 'sum').index(reduction)

    @staticmethod
    def legacy_get_string(size_average, reduce, emit_warning=True):
        return _reduction(size_average, reduce, 'mean')


def _reduced(loss, reduction):
    if reduction == 'none':
        return loss
    if reduction == 'mean':
        return loss.mean()
    if reduction == 'sum':
        return loss.sum()
    raise ValueError(f'{reduction} is not a valid value for reduction')


_margin_ranking_loss = op('margin_ranking_loss')


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction='mean'):
    """Of integers, products and differences wrap around as their type's do, before the margin makes floats of them."""
    reduction = _reduction(size_average, reduce, reduction)
    if input1.is_floating_point() or input2.is_floating_point() or target.is_floating_point():
        return _margin_ranking_loss(input1, input2, target, margin, reduction=reduction)
    return _reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


_mse_loss, _l1_loss, _smooth_l1_loss, _huber_loss = op('mse_loss'), op('l1_loss'), op('smooth_l1_loss'), op('huber_loss')


def _weighted(loss, weight, reduction, mean):
    """loss: of each element."""
    if weight.shape != loss.shape:
        raise ValueError('Weights and input must have the same size.')
    return mean(loss * weight) if reduction == 'mean' else _reduced(loss * weight, reduction)


def mse_loss(input, target, size_average=None, reduce=None, reduction='mean', weight=None):
    reduction = _reduction(size_average, reduce, reduction)
    if weight is None:
        return _mse_loss(input, target, reduction=reduction)
    return _weighted(_mse_loss(input, target, reduction='none'), weight, reduction, lambda loss: loss.sum() / weight.sum())


def l1_loss(input, target, size_average=None, reduce=None, reduction='mean', weight=None):
    reduction = _reduction(size_average, reduce, reduction)
    if weight is None:
        return _l1_loss(input, target, reduction=reduction)
    return _weighted(_l1_loss(input, target, reduction='none'), weight, reduction, lambda loss: loss.sum() / weight.sum())


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction='mean', beta=1.0):
    return _smooth_l1_loss(input, target, reduction=_reduction(size_average, reduce, reduction), beta=beta)


def huber_loss(input, target, reduction='mean', delta=1.0, weight=None):
    if weight is None:
        return _huber_loss(input, target, reduction=reduction, delta=delta)
    return _weighted(_huber_loss(input, target, reduction='none', delta=delta), weight, reduction, lambda loss: loss.mean())


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """In f32 at least: squares of f16 are soon infinite, or 0."""
    own = torch.result_type(x1, x2)
    own = own if own.is_floating_point else torch.float32
    wide = torch.float64 if own == torch.float64 else torch.float32
    x1, x2 = x1.to(wide), x2.to(wide)
    if x1.shape != x2.shape:
        x1, x2 = torch.broadcast_tensors(x1, x2)
    n1 = torch.norm(x1, 2, dim).clamp_min(eps)  # which is flat at 0, where a root is steep
    n2 = torch.norm(x2, 2, dim).clamp_min(eps)
    return ((x1 * x2).sum(dim) / (n1 * n2)).to(own)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return torch.norm(x1 - x2 + eps, p, -1, keepdim)


def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction='mean'):
    n1, n2 = (input1 * input1).sum(-1) + 1e-12, (input2 * input2).sum(-1) + 1e-12
    cosine = (input1 * input2).sum(-1) / (n1 * n2).sqrt()
    apart = torch.where(target == -1, (cosine - margin).clamp_min(0), 0)
    return _reduced(torch.where(target == 1, 1 - cosine, 0) + apart, _reduction(size_average, reduce, reduction))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None,
                        reduce=None, reduction='mean'):
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduced((near - far + margin).clamp_min(0), _reduction(size_average, reduce, reduction))


_attention = op('scaled_dot_product_attention')


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    if enable_gqa:  # a head of key and value serves several of query
        heads = query.size(-3)
        if heads % key.size(-3) or heads % value.size(-3):
            raise RuntimeError('Number of heads in key and value must divide the number of heads in query')
        key = key.repeat_interleave(heads // key.size(-3), -3)
        value = value.repeat_interleave(heads // value.size(-3), -3)
    return _attention(query, key, value, attn_mask, dropout_p, is_causal, scale)


_softsign = op('softsign')


def softsign(input):
    """Of integers in their own type, in which the largest and the least wrap around."""
    return _softsign(input) if input.is_floating_point() else input / (input.abs() + 1)


# -- windows of the last dimensions

_max_pool, _avg_pool, _im2col = op('max_pool'), op('avg_pool'), op('im2col')
_adaptive_avg_pool, _adaptive_max_pool = op('adaptive_avg_pool'), op('adaptive_max_pool')
_upsample_nearest = op('upsample_nearest')


def _entries(v):
    """None and () are None, one int is for all dimensions."""
    if v is None or isinstance(v, int):
        return None if v is None else [v]
    return list(v) or None


def _max_pool_nd(n, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    out = _max_pool(input, _entries(kernel_size), _entries(stride), _entries(padding), _entries(dilation), ceil_mode, n)
    if return_indices:
        return out, max_pool_indices(n, input, kernel_size, stride, padding, dilation, ceil_mode)
    return out


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return _max_pool_nd(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return _max_pool_nd(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return _max_pool_nd(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg_pool_nd(n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor):
    if not input.is_floating_point() and not input.is_complex():  # whole numbers: the quotient of sums, towards 0
        windows = kernel_size, stride, padding, ceil_mode, count_include_pad
        of_ones = [_avg_pool_nd(n, torch.ones_like(input, dtype=torch.float64), *windows, by) for by in (1, divisor)]
        total = _avg_pool_nd(n, input.double(), *windows, 1)
        return (total / (of_ones[0] / of_ones[1]).round()).trunc().to(input.dtype)
    return _avg_pool(input, _entries(kernel_size), _entries(stride), _entries(padding), ceil_mode, count_include_pad,
                     divisor, n)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    return _avg_pool_nd(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
               divisor_override=None):
    return _avg_pool_nd(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
               divisor_override=None):
    return _avg_pool_nd(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _sizes(n, input, size):
    """A size for each of the last n dimensions; None keeps what is there."""
    size = [size] * n if size is None or isinstance(size, int) else list(size)
    return [input.shape[i - n] if s is None else s for i, s in enumerate(size)]


def adaptive_avg_pool1d(input, output_size):
    return _adaptive_avg_pool(input, _sizes(1, input, output_size))


def adaptive_avg_pool2d(input, output_size):
    return _adaptive_avg_pool(input, _sizes(2, input, output_size))


def adaptive_avg_pool3d(input, output_size):
    return _adaptive_avg_pool(input, _sizes(3, input, output_size))


def _adaptive_max_nd(n, input, output_size, return_indices):
    sizes = _sizes(n, input, output_size)
    out = _adaptive_max_pool(input, sizes)
    return (out, adaptive_max_indices(n, input, sizes)) if return_indices else out


def adaptive_max_pool1d(input, output_size, return_indices=False):
    return _adaptive_max_nd(1, input, output_size, return_indices)


def adaptive_max_pool2d(input, output_size, return_indices=False):
    return _adaptive_max_nd(2, input, output_size, return_indices)


def adaptive_max_pool3d(input, output_size, return_indices=False):
    return _adaptive_max_nd(3, input, output_size, return_indices)


def interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None,
                antialias=False):
    n = input.ndim - 2
    linear, cubic = mode == ('linear', 'bilinear', 'trilinear')[n - 1], mode == 'bicubic' and n == 2
    if mode not in ('nearest', 'nearest-exact', 'area') and not linear and not cubic:
        refuse(f"interpolate of {n} dimensions with mode='{mode}' is not supported; nearest, area, linear and cubic ones are")
    if antialias and (n != 2 or not linear and not cubic):
        raise ValueError('Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input')
    factors = None
    if (size is None) == (scale_factor is None):
        raise ValueError('only one of size or scale_factor should be defined')
    if size is None:
        factors = [scale_factor] * n if isinstance(scale_factor, (int, float)) else list(scale_factor)
        size = [int(s * f) for s, f in zip(input.shape[2:], factors)]
    size = _sizes(n, input, size)
    if recompute_scale_factor:
        factors = None
    if antialias:
        return interpolate_filtered(input, size, factors, align_corners, cubic)
    if linear or cubic:
        return (interpolate_linear if linear else interpolate_cubic)(input, size, factors, align_corners)
    if mode == 'area':
        return _adaptive_avg_pool(input, size)
    if mode == 'nearest' and (factors is None or all([s * f == z for s, f, z in zip(input.shape[2:], factors, size)])):
        return _upsample_nearest(input, size)
    return interpolate_nearest(input, size, factors, 0.5 if mode == 'nearest-exact' else 0.0)


def upsample(input, size=None, scale_factor=None, mode='nearest', align_corners=None):
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, 'bilinear', True)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return _im2col(input, _entries(kernel_size), _entries(stride), _entries(padding), _entries(dilation))


def pixel_shuffle(input, upscale_factor):
    r = upscale_factor
    n, c, h, w = input.shape
    return input.reshape(n, c // (r * r), r, r, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, c // (r * r), h * r, w * r)


def pixel_unshuffle(input, downscale_factor):
    r = downscale_factor
    n, c, h, w = input.shape
    return input.reshape(n, c, h // r, r, w // r, r).permute(0, 1, 3, 5, 2, 4).reshape(n, c * r * r, h // r, w // r)


_batch_norm = op('batch_norm')


def _update(running, value, momentum):
    running.mul_(1 - momentum).add_(momentum * value)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if input.ndim and input.numel() == 0:  # no statistics are there to be updated by
        out = input.clone() if weight is None else input * weight[0]
        return out if bias is None else out + bias[0]
    if training and running_mean is not None:
        others = [d for d in range(input.ndim) if d != 1]
        before = set_grad_mode(False)
        _update(running_mean, input.mean(others), momentum)
        _update(running_var, input.var(others), momentum)
        set_grad_mode(before)
        running_mean = running_var = None
        momentum = momentum if isinstance(momentum, float) else 0.0
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


logsigmoid = op('logsigmoid')

from torch._conv import (conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d,
                         same_padding, conv_tbc)
from torch.nn._functional import (embedding_bag, channel_shuffle, local_response_norm, lp_pool1d, lp_pool2d, lp_pool3d, fractional_max_pool2d, fractional_max_pool3d, bilinear, multilabel_margin_loss, linear_cross_entropy,
                                  one_hot, gumbel_softmax, multilabel_soft_margin_loss, multi_margin_loss, fold, grid_sample,
                                  triplet_margin_with_distance_loss, max_pool_indices, adaptive_max_indices,
                                  max_unpool1d, max_unpool2d, max_unpool3d, interpolate_linear, interpolate_cubic, interpolate_filtered,
                                  interpolate_nearest, affine_grid, ctc_loss, multi_head_attention_forward)


def pdist(input, p=2.0):
    return torch.pdist(input, p)
