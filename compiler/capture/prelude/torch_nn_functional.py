"""torch.nn.functional: what is not an operator of graph/ops.def by itself."""

import torch
from _warpsmith import op, refuse, assign
_softmax, _log_softmax, group_norm = op('softmax'), op('log_softmax'), op('group_norm')


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        refuse('F.softmax needs dim')
    return _softmax(input, dim, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        refuse('F.log_softmax needs dim')
    return _log_softmax(input, dim, dtype)


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


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    if training and p > 0:
        refuse('alpha_dropout in training mode is not supported; call .eval() on the module, or set p=0')
    return input


def glu(input, dim=-1):
    a, b = input.chunk(2, dim)
    return a * torch.sigmoid(b)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    return softmax(-input, dim, dtype=dtype)


_prelu, _leaky_relu = op('prelu'), op('leaky_relu')


def prelu(input, weight):
    """One weight, or one for each channel: dimension 1."""
    if weight.numel() != 1:
        weight = weight.reshape([-1] + [1] * (input.ndim - 2))
    return _prelu(input, weight)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    if training:
        refuse('rrelu in training mode is not supported; call .eval() on the module')
    return _leaky_relu(input, (lower + upper) / 2)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                  momentum=0.1, eps=1e-5):
    if not use_input_stats or running_mean is not None or running_var is not None:
        refuse('instance_norm with running statistics is not supported')
    return group_norm(input, input.shape[1], weight, bias, eps)


def _reduced(loss, reduction):
    if reduction == 'none':
        return loss
    if reduction == 'mean':
        return loss.mean()
    if reduction == 'sum':
        return loss.sum()
    raise ValueError(f'{reduction} is not a valid value for reduction')


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    n1 = (x1 * x1).sum(dim).sqrt().clamp_min(eps)
    n2 = (x2 * x2).sum(dim).sqrt().clamp_min(eps)
    return (x1 * x2).sum(dim) / (n1 * n2)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return torch.norm(x1 - x2 + eps, p, -1, keepdim)


def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction='mean'):
    n1, n2 = (input1 * input1).sum(-1) + 1e-12, (input2 * input2).sum(-1) + 1e-12
    cosine = (input1 * input2).sum(-1) / (n1 * n2).sqrt()
    apart = torch.where(target == -1, (cosine - margin).clamp_min(0), 0)
    return _reduced(torch.where(target == 1, 1 - cosine, 0) + apart, reduction)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None,
                        reduce=None, reduction='mean'):
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduced((near - far + margin).clamp_min(0), reduction)
