"""torch.nn.functional: what few models use: bags, shuffles, windows of their own, resizing between elements."""
import math

import torch
from torch.nn.functional import embedding, pairwise_distance, avg_pool1d, avg_pool2d, avg_pool3d, pad, logsigmoid, _reduced, _reduction, _sizes
from _warpsmith import op, refuse, computes
_windows, _index, _one_hot = op('windows'), op('index'), op('one_hot')


def one_hot(tensor, num_classes=-1):
    """Where nothing is computed, the graph wants to know how many classes there are."""
    if num_classes == -1 and computes():
        num_classes = tensor.max().item() + 1
    return _one_hot(tensor, num_classes)


def _bags(rows, keep, offsets, mode):
    """Reduced rows: a bag's are those from its offset on, up to the next bag's."""
    ends = torch.cat([offsets[1:], offsets.new_full((1,), len(rows))])
    at = torch.arange(len(rows))
    inside = (at >= offsets.unsqueeze(1)) & (at < ends.unsqueeze(1))
    inside = inside if keep is None else inside & keep.squeeze(-1)
    if mode == 'max':
        most = torch.where(inside.unsqueeze(-1), rows, -torch.inf).amax(1)
        return most.masked_fill(most == -torch.inf, 0.0)
    total = inside.to(rows.dtype) @ rows
    return total if mode == 'sum' else total / inside.sum(1, keepdim=True).clamp(min=1)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode='mean',
                  sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None):
    rows = embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    keep = None if padding_idx is None else (input != padding_idx).unsqueeze(-1)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if input.ndim != 2:
        if offsets is None:
            raise ValueError('offsets has to be a 1D Tensor but got None')
        return _bags(rows, keep, offsets[:-1] if include_last_offset else offsets, mode)
    if mode == 'max':
        return rows.amax(1) if keep is None else torch.where(keep, rows, -torch.inf).amax(1)
    total = (rows if keep is None else rows * keep).sum(1)
    return total if mode == 'sum' else total / (input.shape[1] if keep is None else keep.sum(1).clamp(min=1))


def channel_shuffle(input, groups):
    return input.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Over neighbouring channels: dimension 1."""
    squares = pad((input * input).movedim(1, -1), (size // 2, (size - 1) // 2))
    mean = squares.unfold(-1, size, 1).mean(-1).movedim(-1, 1)
    return input / (mean * alpha + k) ** beta


def _lp_pool(pool, input, norm_type, kernel_size, stride, ceil_mode):
    spatial = 1 if pool is avg_pool1d else 2 if pool is avg_pool2d else 3
    sizes = [kernel_size] * spatial if isinstance(kernel_size, int) else list(kernel_size)
    mean = pool(input ** norm_type, kernel_size, stride, 0, ceil_mode)
    return (torch.sign(mean) * torch.relu(mean.abs()) * math.prod(sizes)) ** (1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp_pool(avg_pool1d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp_pool(avg_pool2d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp_pool(avg_pool3d, input, norm_type, kernel_size, stride, ceil_mode)


def _fractional_starts(sample, size, window, n):
    """Where each of n windows begins: steps of a length that is no whole number, from where the sample says; the last ends
    where the input does."""
    if n == 1:
        return torch.full((*sample.shape, 1), size - window, dtype=torch.int64)
    step = (size - window) / (n - 1)
    i = torch.arange(n - 1, dtype=sample.dtype)
    starts = ((i + sample.unsqueeze(-1)) * step).long() - (sample.unsqueeze(-1) * step).long()
    return torch.cat([starts, torch.full((*sample.shape, 1), size - window, dtype=torch.int64)], -1)


def _fractional_max_pool(spatial, input, kernel_size, output_size, output_ratio, return_indices, samples):
    if output_size is None and output_ratio is None:
        raise ValueError(f'fractional_max_pool{spatial}d requires specifying either an output_size or an output_ratio')
    sizes = input.shape[-spatial:]
    windows = [kernel_size] * spatial if isinstance(kernel_size, int) else list(kernel_size)
    if output_size is None:
        ratios = [output_ratio] * spatial if isinstance(output_ratio, float) else output_ratio
        output_size = [int(n * r) for n, r in zip(sizes, ratios)]
    out = [output_size] * spatial if isinstance(output_size, int) else list(output_size)
    single = input.ndim == spatial + 1
    x = input.unsqueeze(0) if single else input
    if samples is None:
        samples = torch.rand(*x.shape[:2], spatial, dtype=x.dtype, device=x.device)
    samples = samples[:x.shape[0]]  # of one image PyTorch reads the first ones
    place = 0  # of each window's elements in the image: (N, C, windows, elements), one dimension after the other
    for d in range(spatial):
        sample = samples[..., spatial - 1 - d if spatial == 2 else d]
        at = _fractional_starts(sample, sizes[d], windows[d], out[d]).unsqueeze(-1) + torch.arange(windows[d])
        shape = (*x.shape[:2], *[1] * d, out[d], *[1] * (spatial - 1 - d), *[1] * d, windows[d], *[1] * (spatial - 1 - d))
        place = place * sizes[d] + at.view(shape)
    place = place.view(*x.shape[:2], math.prod(out), math.prod(windows))
    flat = x.flatten(2)
    found = flat.detach().unsqueeze(2).expand(*flat.shape[:2], math.prod(out), flat.shape[2]).gather(-1, place)
    chosen = place.gather(-1, found.argmax(-1, keepdim=True)).squeeze(-1)
    values, chosen = [v.view(*x.shape[:2], *out) for v in (flat.gather(-1, chosen), chosen)]
    values, chosen = (values.squeeze(0), chosen.squeeze(0)) if single else (values, chosen)
    return (values, chosen) if return_indices else values


def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    return _fractional_max_pool(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    return _fractional_max_pool(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def bilinear(input1, input2, weight, bias=None):
    out = torch.einsum('...i,oij,...j->...o', input1, weight, input2)
    return out if bias is None else out + bias


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    u = torch.rand_like(logits).clamp(min=1e-20)
    soft = ((logits - (-u.log()).log()) / tau).softmax(dim)
    if not hard:
        return soft
    place = soft.argmax(dim, keepdim=True)
    at = torch.arange(logits.size(dim)).reshape([-1] + [1] * (logits.ndim - 1 - dim % logits.ndim))
    return (at == place).to(soft.dtype) - soft.detach() + soft


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction='mean'):
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    return _reduced(loss.mean(-1), _reduction(size_average, reduce, reduction))


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction='mean'):
    """target: numbers of classes in front of the first -1."""
    n = input.size(-1) if input.ndim else 1
    x, target = input.reshape([-1, n]), target.reshape([-1, n])
    counts = (target < 0).cumsum(-1) == 0
    wanted = ((target.unsqueeze(-1) == torch.arange(n)) & counts.unsqueeze(-1)).any(1)
    own = x.gather(-1, target.clamp(min=0))
    apart = (1 - own.unsqueeze(-1) + x.unsqueeze(1)).clamp(min=0)
    loss = torch.where(counts.unsqueeze(-1) & ~wanted.unsqueeze(1), apart, 0).sum([1, 2]) / n
    return _reduced(loss.reshape(input.shape[:-1]), _reduction(size_average, reduce, reduction))


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction='mean', ignore_index=None,
                         label_smoothing=0.0, options=None):
    """The weight's middle dimensions become those of the logits behind their classes."""
    classes, *middle, width = linear_weight.shape
    logits = input @ linear_weight.reshape(-1, width).T
    if linear_bias is not None:
        logits = logits + linear_bias.reshape(-1)
    if middle:
        logits = logits.reshape(*input.shape[:-1], classes, *middle)
    import torch.nn.functional as F
    return F.cross_entropy(logits, target, weight=weight, reduction=reduction, label_smoothing=label_smoothing,
                           ignore_index=-100 if ignore_index is None else ignore_index)


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction='mean'):
    input, target = torch.atleast_1d(input), target.reshape(torch.atleast_1d(input).shape[:-1])
    own = input.gather(-1, target.unsqueeze(-1))
    loss = (margin - own + input).clamp(min=0)
    loss = loss * loss if p == 2 else loss
    if weight is not None:
        loss = loss * weight[target].unsqueeze(-1)
    other = torch.arange(input.size(-1)) != target.unsqueeze(-1)
    return _reduced((loss * other).sum(-1) / input.size(-1), _reduction(size_average, reduce, reduction))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction='mean'):
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return _reduced((near - far + margin).clamp(min=0), reduction)


def max_pool_indices(n, input, kernel_size, stride, padding, dilation, ceil_mode):
    """The places of the maxima, each a row-major number in its channel."""
    each = lambda v, none: list(none if v is None else [v] * n if isinstance(v, int) else v)
    kernel, padding, dilation = each(kernel_size, None), each(padding, None), each(dilation, None)
    stride = each(stride or None, kernel)
    sizes = input.shape[-n:]
    number = torch.arange(math.prod(sizes)).reshape(sizes)
    window = lambda x, outside: _windows(x, kernel, stride, padding, dilation, ceil_mode, outside).flatten(-n)
    values = window(input, -torch.inf)
    where = values.argmax(-1, keepdim=True)
    return window(number, 0).expand(values.shape).gather(-1, where).squeeze(-1)


def adaptive_max_indices(n, input, sizes):
    """The same of windows that share a dimension evenly: o of them begin at o * size // count."""
    have, places, valid = input.shape[-n:], [], True
    for k, want in enumerate(sizes):
        o, size = torch.arange(want), have[k]
        longest = max([((i + 1) * size + want - 1) // want - i * size // want for i in range(want)])
        shape = lambda count, d: [count if i == d else 1 for i in range(2 * n)]
        begin, end = o * size // want, ((o + 1) * size + want - 1) // want
        at = begin.reshape(shape(want, k)) + torch.arange(longest).reshape(shape(longest, n + k))
        valid = (at < end.reshape(shape(want, k))) & valid
        places.append(at.clamp(max=size - 1))
    number = torch.arange(math.prod(have)).reshape(have)
    values = torch.where(valid, _index(input, places, list(range(input.ndim - n, input.ndim))), -torch.inf).flatten(-n)
    number = _index(number, places, list(range(n))).flatten(-n)
    return number.expand(values.shape).gather(-1, values.argmax(-1, keepdim=True)).squeeze(-1)


def _max_unpool(n, input, indices, kernel_size, stride, padding, output_size):
    each = lambda v: [v] * n if isinstance(v, int) else list(v)
    kernel, padding = each(kernel_size), each(padding)
    stride = kernel if stride is None else each(stride)
    size = [(i - 1) * s - 2 * p + k for i, s, p, k in zip(input.shape[-n:], stride, padding, kernel)]
    size = size if output_size is None else list(output_size)[-n:]
    lead = list(input.shape[:-n])
    out = torch.zeros(lead + [math.prod(size)], dtype=input.dtype)
    return out.scatter(-1, indices.flatten(-n), input.flatten(-n)).reshape(lead + size)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """What unfold took apart, added up where it came from."""
    pair = lambda v: (v, v) if isinstance(v, int) else tuple(v)
    (oh, ow), (kh, kw), (dh, dw), (ph, pw), (sh, sw) = [pair(v) for v in (output_size, kernel_size, dilation, padding, stride)]
    batched = input.ndim == 3
    x = input if batched else input.unsqueeze(0)
    rows, columns = (oh + 2 * ph - dh * (kh - 1) - 1) // sh + 1, (ow + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    x = x.reshape(x.shape[0], -1, kh, kw, rows, columns)
    total = 0
    for i in range(kh):
        for j in range(kw):
            part = _spread(_spread(x[:, :, i, j], -2, i * dh, sh, oh + 2 * ph), -1, j * dw, sw, ow + 2 * pw)
            total = total + part[:, :, ph:ph + oh, pw:pw + ow]
    return total if batched else total.squeeze(0)


def _spread(x, dim, start, step, size):
    """Element i of dim at start + i * step of size, else 0."""
    at = torch.arange(size) - start
    hit = (at % step == 0) & (at >= 0) & (at < x.size(dim) * step)
    place = torch.div(at, step, rounding_mode='floor').clamp(0, x.size(dim) - 1)
    rest = [1] * (-1 - dim)
    return torch.where(hit.reshape([-1] + rest), _index(x, [place], [x.ndim + dim]), 0)


def _step(old, new, scale, align_corners):
    """How far apart the elements of a dimension of `new` lie in one of `old`."""
    if align_corners:
        return (old - 1) / (new - 1) if new > 1 else 0.0
    return 1 / scale if scale else old / new


def _places(old, new, scale, align_corners, dtype):
    """Where the elements of a dimension of `new` lie in one of `old`: in f64 for tensors of f64, else in f32."""
    i = torch.arange(new).to(torch.float64 if dtype == torch.float64 else torch.float32)
    step = _step(old, new, scale, align_corners)
    return i * step if align_corners else (i + 0.5) * step - 0.5


def _places_between(old, new, scale, align_corners, dtype):
    """The elements around each place, and how far it is behind the first of them, from 0 to 1. Where a step is a quotient of
    integers, these elements are, too: exact, and known to who adds up gradients. What is beyond the border is between the
    element there and itself."""
    if scale and scale != int(scale) and not align_corners:
        at = _places(old, new, scale, align_corners, dtype).clamp(min=0)
        low = at.floor().to(torch.int64).clamp(max=old - 1)
        return low, (low + 1).clamp(max=old - 1), at - low
    i = torch.arange(new)
    if align_corners:
        above, below = i * (old - 1), max(new - 1, 1)
    elif scale:
        above, below = 2 * i + (1 - int(scale)), 2 * int(scale)
    else:
        above, below = (2 * i + 1) * old - new, 2 * new
    low = torch.div(above, below, rounding_mode='floor')
    part = (above.clamp(min=0) % below).to(torch.float64 if dtype == torch.float64 else torch.float32) / below
    return low.clamp(0, old - 1), (low + 1).clamp(0, old - 1), part


def interpolate_linear(input, size, scales, align_corners):
    """One dimension after the other: between the two elements around."""
    n = input.ndim - 2
    if input.dtype == torch.uint8 and n == 2:
        return _interpolate_bytes(input, size, scales, align_corners,
                                  lambda *a: _weights_around(*a, align_corners, lambda x: (1 - x, x), 0))
    if input.dtype == torch.uint8:  # which each dimension, the last one first, leaves as bytes
        for k in range(n - 1, -1, -1):
            one, own = list(input.shape[2:]), None if scales is None else [1.0] * n
            one[k] = size[k]
            if scales:
                own[k] = scales[k]
            input = (interpolate_linear(input.float(), one, own, align_corners) + 0.5).floor().to(torch.uint8)
        return input
    if not input.is_floating_point():
        raise NotImplementedError(f'interpolate between elements is not implemented for {input.dtype}')
    for k in range(n):
        dim = 2 + k
        old, new = input.size(dim), size[k]
        low, high, part = _places_between(old, new, scales and scales[k], align_corners, input.dtype)
        part = part.reshape([-1] + [1] * (n - 1 - k)).to(input.dtype)
        input = _index(input, [low], [dim]) * (1 - part) + _index(input, [high], [dim]) * part
    return input


def _near(d, a):
    """Keys' cubic convolution: the weight of an element at a distance up to 1, and up to 2."""
    return ((a + 2) * d - (a + 3)) * d * d + 1


def _far(d, a):
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a


def _cubic(x, a=-0.75):
    """Weights of the four elements around a place which is x behind the second."""
    return _far(x + 1, a), _near(x, a), _near(1 - x, a), _far(2 - x, a)


def _weights_around(old, new, step, align_corners, weights_of, before):
    """By element of new: {element of old: its weight}. weights_of(x): of the elements around a place which is x behind the
    one that has `before` others before it. What lies beyond the border counts for the element there."""
    rows = []
    for i in range(new):
        at = i * step if align_corners else (i + 0.5) * step - 0.5
        low, row = math.floor(at), {}
        for j, w in enumerate(weights_of(at - low)):
            place = min(max(low + j - before, 0), old - 1)
            row[place] = row.get(place, 0.0) + w
        rows.append(row)
    return rows


def _weights_within(old, new, step, cubic):
    """The same of a filter that is as wide as a step, if that is above 1."""
    wide, rows = max(step, 1.0), []
    reach = (2 if cubic else 1) * wide
    for i in range(new):
        center, row = (i + 0.5) * step, {}
        for j in range(max(int(center - reach + 0.5), 0), min(int(center + reach + 0.5), old)):
            away = abs((j - center + 0.5) / wide)
            row[j] = max(1 - away, 0.0) if not cubic else _near(away, -0.5) if away < 1 else _far(away, -0.5) if away < 2 else 0.0
        total = sum(row.values())
        rows.append({j: w / total for j, w in row.items()})
    return rows


def _interpolate_bytes(input, size, scales, align_corners, weights):
    """Images of bytes as PyTorch has them: along width, then along height, by integers of 16 bits for weights, whose scale
    is a power of two; each dimension leaves bytes."""
    for k in (1, 0):
        old, new = input.size(2 + k), size[k]
        step = _step(old, new, scales and scales[k], align_corners)
        if old == new and step == 1:
            continue
        rows = [list(row.items()) for row in weights(old, new, step)]
        most, bits = max([w for row in rows for _, w in row]), 0
        while bits < 22 and int(0.5 + most * 2 ** (bits + 1)) < 2 ** 15:
            bits += 1
        total = 2 ** (bits - 1)
        for j in range(max([len(row) for row in rows])):
            taps = [row[j] if j < len(row) else (0, 0.0) for row in rows]
            whole = [int(w * 2 ** bits + (0.5 if w >= 0 else -0.5)) for _, w in taps]
            values = _index(input.to(torch.int32), [torch.tensor([t for t, _ in taps])], [2 + k])
            total = total + values * torch.tensor(whole, dtype=torch.int32).reshape([-1] + [1] * (1 - k))
        input = (total >> bits).clamp(0, 255).to(torch.uint8)
    return input


def interpolate_cubic(input, size, scales, align_corners):
    """Four elements around, those beyond the border as the border's, along width, then along height."""
    if input.dtype == torch.uint8:
        return _interpolate_bytes(input, size, scales, align_corners, lambda *a: _weights_around(*a, align_corners, _cubic, 1))
    for k in (1, 0):
        dim = 2 + k
        old, new = input.size(dim), size[k]
        at = _places(old, new, scales and scales[k], align_corners, input.dtype)
        low = at.floor()
        weights = [w.reshape([-1] + [1] * (1 - k)).to(input.dtype) for w in _cubic(at - low)]
        taps = [(low.to(torch.int64) + j - 1).clamp(0, old - 1) for j in range(4)]
        input = sum([_index(input, [t], [dim]) * w for t, w in zip(taps, weights)])
    return input


def interpolate_filtered(input, size, scales, align_corners, cubic):
    """With antialias: every element within the filter's reach, which is as wide as a step if that is above 1."""
    if input.dtype == torch.uint8:
        return _interpolate_bytes(input, size, scales, align_corners, lambda *a: _weights_within(*a, cubic))
    kind = torch.float64 if input.dtype == torch.float64 else torch.float32
    for k in (1, 0):
        dim = 2 + k
        old, new = input.size(dim), size[k]
        step = _step(old, new, scales and scales[k], align_corners)
        wide = max(step, 1.0)
        reach = (2 if cubic else 1) * wide
        center = (torch.arange(new).to(kind).unsqueeze(1) + 0.5) * step
        j = torch.arange(old)
        first = (center - reach + 0.5).to(torch.int64).clamp(min=0)
        end = (center + reach + 0.5).to(torch.int64).clamp(max=old)
        away = ((j - center + 0.5) / wide).abs()
        if cubic:
            weights = torch.where(away < 1, _near(away, -0.5), torch.where(away < 2, _far(away, -0.5), 0))
        else:
            weights = (1 - away).clamp(min=0)
        weights = torch.where((j >= first) & (j < end), weights, 0)
        weights = (weights / weights.sum(1, keepdim=True)).to(input.dtype)
        input = weights @ input if k == 0 else input @ weights.t()
    return input


def interpolate_nearest(input, size, scales, offset):
    """The element that place i + offset is in, by a scale of f32 as PyTorch's."""
    for k in range(input.ndim - 2):
        old = input.size(2 + k)
        step = 1 / scales[k] if scales else old / size[k]
        at = ((torch.arange(size[k]).to(torch.float32) + offset) * torch.full((), step)).floor().to(torch.int64)
        input = _index(input, [at.clamp(max=old - 1)], [2 + k])
    return input


def _reflected(x, size, align_corners):
    """Places beyond the border, which goes through the last elements' centers or around them, thrown back by it."""
    low, span = (0.0, size - 1) if align_corners else (-0.5, size)
    if span == 0:
        return torch.zeros_like(x)
    x = (x - low).abs()
    rest, turns = x % span, (x / span).floor()
    return torch.where(turns % 2 == 0, rest, span - rest) + low


def grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners=None):
    """[N, C, H, W] looked up at grid [N, h, w, 2], whose x and y go from -1 to 1; or [N, C, D, H, W] at [N, d, h, w, 3]."""
    dims = input.ndim - 2
    if dims not in (2, 3) or mode not in ('bilinear', 'nearest', 'bicubic') or mode == 'bicubic' and dims == 3:
        refuse('grid_sample is supported of images and volumes, with mode bilinear or nearest, and of images with bicubic')
    if padding_mode not in ('zeros', 'border', 'reflection'):
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
                         f"'{padding_mode}'")
    sizes = input.shape[2:]
    image = torch.arange(input.size(0)).reshape([-1] + [1] * dims)
    values = input.movedim(1, -1)

    def within(x, size):
        if padding_mode == 'reflection':
            x = _reflected(x, size, align_corners)
        return x if padding_mode == 'zeros' else x.clamp(0, size - 1)

    def at(places):
        inside = True
        for x, size in zip(places, sizes):
            inside = inside & (x >= 0) & (x < size)
        places = [x.clamp(0, size - 1).to(torch.int64) for x, size in zip(places, sizes)]
        return torch.where(inside.unsqueeze(-1), values[(image, *places)], 0)

    def around(chosen, taps):
        """The sum of the elements at the taps of the dimensions which are not chosen yet, each times its weights."""
        if not taps:
            return at(chosen)
        total = 0
        for place, weight in taps[0]:
            total = total + around(chosen + [place], taps[1:]) * weight.unsqueeze(-1)
        return total

    taps = []
    for k in range(dims):
        x, size = grid[..., dims - 1 - k], sizes[k]
        x = (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2
        if mode != 'bicubic':
            x = within(x, size)
        low = x.round() if mode == 'nearest' else x.floor()
        if mode == 'nearest':
            taps.append(low)
        elif mode == 'bilinear':
            taps.append([(low, 1 - (x - low)), (low + 1, x - low)])
        else:
            taps.append([(within(low + j - 1, size), w) for j, w in enumerate(_cubic(x - low))])
    return (at(taps) if mode == 'nearest' else around([], taps)).movedim(-1, 1)


def affine_grid(theta, size, align_corners=None):
    """The grid of grid_sample() whose points are theta [N, 2, 3] times (x, y, 1); of volumes, [N, 3, 4] times (x, y, z, 1)."""
    sizes = size[2:]
    step = lambda k: torch.linspace(-1, 1, k) if align_corners else (torch.arange(k) * 2 + 1) / k - 1
    axes = [step(k).to(theta.dtype) for k in sizes]
    points = torch.stack(torch.meshgrid(*axes, indexing='ij')[::-1] + (torch.ones(sizes, dtype=theta.dtype),), -1)
    return (points.reshape(1, -1, len(sizes) + 1) @ theta.transpose(1, 2)).reshape([size[0], *sizes, len(sizes)])


def _log_of_sum(terms):
    """logsumexp() of them, whose gradient is 0, not nan, where all are -inf."""
    terms = torch.stack(terms)
    most = terms.amax(0).detach()
    none = most == -torch.inf
    most = most.masked_fill(none, 0.0)
    return (terms - most).exp().sum(0).masked_fill(none, 1.0).log().masked_fill(none, -torch.inf) + most


def _labels(targets, lengths):
    """A row for each sequence; what is behind its length is any label."""
    if targets.ndim == 2:
        return targets
    begin = (lengths.cumsum(0) - lengths).unsqueeze(1)
    return targets[(begin + torch.arange(len(targets))).clamp(max=len(targets) - 1)]


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False):
    """Labels with blanks between them: at each step of time a path stays, goes on by one or, over a blank between two
    labels that differ, by two. `path` has the logarithms of all ways to a place."""
    if log_probs.ndim == 2:
        loss = ctc_loss(log_probs.unsqueeze(1), targets.unsqueeze(0), [input_lengths], [target_lengths], blank, reduction,
                        zero_infinity)
        return loss.squeeze(0) if reduction == 'none' else loss
    steps, batch, classes = log_probs.shape
    ends, lengths = torch.as_tensor(input_lengths).reshape(-1), torch.as_tensor(target_lengths).reshape(-1)
    targets = _labels(targets, lengths).to(torch.int64)
    blanks = torch.full_like(targets, blank)
    labels = pad(torch.stack([blanks, targets], 2).reshape(batch, -1), (0, 1), value=blank)
    at = torch.arange(labels.shape[1])
    skips = pad(labels[:, 2:] != labels[:, :-2], (2, 0), value=False)
    score = log_probs.gather(2, labels.expand(steps, *labels.shape))
    path = score[0].masked_fill(at > 1, -torch.inf)
    for t in range(1, steps):
        near = pad(path, (1, 0), value=-torch.inf)[:, :-1]
        far = pad(path, (2, 0), value=-torch.inf)[:, :-2].masked_fill(~skips, -torch.inf)
        path = torch.where((t < ends).unsqueeze(1), _log_of_sum([path, near, far]) + score[t], path)
    last = (2 * lengths).unsqueeze(1)
    at_label = path.gather(1, (last - 1).clamp(min=0)).masked_fill(last == 0, -torch.inf)
    loss = -_log_of_sum([path.gather(1, last), at_label]).squeeze(1)
    impossible = loss == torch.inf
    # PyTorch's gradient takes log_probs for a log_softmax() of which it is the gradient, too.
    within = torch.arange(steps).reshape(-1, 1, 1) < ends.reshape(1, -1, 1)
    mass = (log_probs.exp() * within).sum([0, 2]).masked_fill(impossible, 0.0)
    loss = loss + (mass - mass.detach())
    if zero_infinity:
        loss = loss.masked_fill(impossible, 0.0)
    return (loss / lengths.clamp(min=1)).mean() if reduction == 'mean' else _reduced(loss, reduction)


def _masked(scores, mask):
    """A mask of bools says what is left out, one of floats is added."""
    return scores.masked_fill(mask, -torch.inf) if mask.dtype == torch.bool else scores + mask


def _one_more(mask):
    return mask if mask is None else pad(mask, (0, 1))


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v,
                                 add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None,
                                 need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None,
                                 k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None,
                                 average_attn_weights=True, is_causal=False):
    """query: (length, batch, embed_dim) or (length, embed_dim); the weights: (batch, length of query, length of key)."""
    from torch.nn.functional import linear, dropout
    batched = query.ndim == 3
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    assert width == embed_dim_to_check, f'was expecting embedding dimension of {embed_dim_to_check}, but got {width}'
    assert width % num_heads == 0, f'embed_dim {width} not divisible by num_heads {num_heads}'
    each = width // num_heads
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight.chunk(3)
    biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    q, k, v = [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]
    if bias_k is not None:
        k, v = torch.cat([k, bias_k.expand(1, batch, width)]), torch.cat([v, bias_v.expand(1, batch, width)])
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    q, k, v = [x.unflatten(-1, (num_heads, each)).permute(1, 2, 0, 3) for x in (q, k, v)]  # batch, heads, length, each
    k = k if static_k is None else static_k.unflatten(0, (batch, num_heads))
    v = v if static_v is None else static_v.unflatten(0, (batch, num_heads))
    if add_zero_attn:
        k, v = [torch.cat([x, x.new_zeros(batch, num_heads, 1, each)], 2) for x in (k, v)]
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    scores = q @ k.transpose(-2, -1) / math.sqrt(each)
    if attn_mask is not None:
        scores = _masked(scores, attn_mask.unflatten(0, (batch, num_heads)) if attn_mask.ndim == 3 else attn_mask)
    if key_padding_mask is not None:
        scores = _masked(scores, key_padding_mask.reshape(batch, 1, 1, -1))
    scores = scores.softmax(-1)
    out = dropout(scores, dropout_p, training) @ v
    out = linear(out.permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
    scores = scores.mean(1) if average_attn_weights else scores
    if not batched:
        out, scores = out.squeeze(1), scores.squeeze(0)
    return out, scores if need_weights else None
