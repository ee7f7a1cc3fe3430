"""torch._C._nn: what graphs that torch.compile has captured call; torch.nn.functional's, but for what its functions do in Python."""
import torch.nn.functional as F

REDUCTIONS = ('none', 'mean', 'sum')  # which the binding counts


def _scales(*scales):
    given = [s for s in scales if s is not None]
    return list(given[0]) if len(given) == 1 and isinstance(given[0], (list, tuple)) else given or None


def _upsample(mode, aligns, antialias=False):
    def function(input, output_size, *rest, align_corners=None, scale_factors=None):
        if aligns and rest:
            align_corners, rest = rest[0], rest[1:]
        scales = None if output_size is not None else _scales(*rest) if rest else scale_factors
        return F.interpolate(input, output_size, scales, mode, align_corners if aligns else None, antialias=antialias)
    return function


(upsample_nearest1d, upsample_nearest2d, upsample_nearest3d) = [_upsample('nearest', False)] * 3
(_upsample_nearest_exact1d, _upsample_nearest_exact2d, _upsample_nearest_exact3d) = [_upsample('nearest-exact', False)] * 3
(upsample_linear1d, upsample_bilinear2d, upsample_bicubic2d, upsample_trilinear3d) = [_upsample(mode, True) for mode in (
    'linear', 'bilinear', 'bicubic', 'trilinear')]
(_upsample_bilinear2d_aa, _upsample_bicubic2d_aa) = [_upsample(mode, True, True) for mode in ('bilinear', 'bicubic')]


def _padded(mode):
    return lambda input, padding: F.pad(input, padding, mode)


(reflection_pad1d, reflection_pad2d, reflection_pad3d) = [_padded('reflect')] * 3
(replication_pad1d, replication_pad2d, replication_pad3d) = [_padded('replicate')] * 3


def _loss(name):
    return lambda input, target, reduction=1: getattr(F, name)(input, target, reduction=REDUCTIONS[reduction])


mse_loss, l1_loss, soft_margin_loss = [_loss(name) for name in ('mse_loss', 'l1_loss', 'soft_margin_loss')]


def huber_loss(input, target, reduction=1, delta=1.0):
    return F.huber_loss(input, target, reduction=REDUCTIONS[reduction], delta=delta)


def smooth_l1_loss(input, target, reduction=1, beta=1.0):
    return F.smooth_l1_loss(input, target, reduction=REDUCTIONS[reduction], beta=beta)


def binary_cross_entropy(input, target, weight=None, reduction=1):
    return F.binary_cross_entropy(input, target, weight, reduction=REDUCTIONS[reduction])


def nll_loss_nd(input, target, weight=None, reduction=1, ignore_index=-100):
    return F.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=REDUCTIONS[reduction])


def cross_entropy_loss(input, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    return F.cross_entropy(input, target, weight, ignore_index=ignore_index, reduction=REDUCTIONS[reduction],
                           label_smoothing=label_smoothing)


def log_sigmoid(input):
    return F.logsigmoid(input)


def max_pool2d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    return F.max_pool2d(input, kernel_size, stride or None, padding, dilation, ceil_mode, return_indices=True)


def max_pool3d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    return F.max_pool3d(input, kernel_size, stride or None, padding, dilation, ceil_mode, return_indices=True)


def adaptive_max_pool2d(input, output_size):
    return F.adaptive_max_pool2d(input, output_size, return_indices=True)


def adaptive_max_pool3d(input, output_size):
    return F.adaptive_max_pool3d(input, output_size, return_indices=True)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    return F.avg_pool2d(input, kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    return F.avg_pool3d(input, kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override)


def im2col(input, kernel_size, dilation, padding, stride):
    return F.unfold(input, kernel_size, dilation, padding, stride)


def col2im(input, output_size, kernel_size, dilation, padding, stride):
    return F.fold(input, output_size, kernel_size, dilation, padding, stride)


def __getattr__(name):
    if hasattr(F, name):
        return getattr(F, name)
    import torch
    return getattr(torch, name)
