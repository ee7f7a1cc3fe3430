"""torch: functions that are another spelling of one of torch.nn.functional or torch.linalg, and updates in place as functions.

    torch.dropout(x, 0.5, True)    F.dropout(x, p=0.5, training=True)
    torch.sinc_(x)                 x.sinc_()
"""


def _of(name, module='torch.nn.functional'):
    """The function of that name, of a module that is loaded when it is needed first."""
    def function(*args, **kwargs):
        if module == 'torch.linalg':
            import torch.linalg as m
        elif module == 'torch.special':
            import torch.special as m
        else:
            import torch.nn.functional as m
        return getattr(m, name)(*args, **kwargs)
    return function


(bilinear, prelu, pairwise_distance, channel_shuffle, adaptive_max_pool1d) = [_of(name) for name in (
    'bilinear', 'prelu', 'pairwise_distance', 'channel_shuffle', 'adaptive_max_pool1d')]
(matrix_exp, lu, lu_solve, lu_unpack, geqrf, orgqr, ormqr) = [_of(name, 'torch.linalg') for name in (
    'matrix_exp', '_lu', '_lu_solve', '_lu_unpack', '_geqrf', 'householder_product', '_ormqr')]
igamma, igammac = [_of(name, 'torch.special') for name in ('gammainc', 'gammaincc')]


def stft(*args, **kwargs):
    import torch.fft
    return torch.fft.stft(*args, **kwargs)


def istft(*args, **kwargs):
    import torch.fft
    return torch.fft.istft(*args, **kwargs)


def _reduction(number):
    """Losses of torch say by number what those of torch.nn.functional say by name."""
    return ('none', 'mean', 'sum')[number]


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    return _of('cosine_embedding_loss')(input1, input2, target, margin, reduction=_reduction(reduction))


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    return _of('margin_ranking_loss')(input1, input2, target, margin, reduction=_reduction(reduction))


def hinge_embedding_loss(input, target, margin=1.0, reduction=1):
    return _of('hinge_embedding_loss')(input, target, margin=margin, reduction=_reduction(reduction))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, reduction=1):
    return _of('triplet_margin_loss')(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1):
    return _of('binary_cross_entropy_with_logits')(input, target, weight=weight, pos_weight=pos_weight, reduction=_reduction(reduction))


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    return _of('poisson_nll_loss')(input, target, log_input=log_input, full=full, eps=eps, reduction=_reduction(reduction))


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    return _of('ctc_loss')(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return _of('embedding')(indices, weight, None if padding_idx < 0 else padding_idx, scale_grad_by_freq=scale_grad_by_freq)


def embedding_renorm_(weight, indices, max_norm, norm_type=2.0):
    """Rows that are looked up and longer than max_norm are shortened, where they are."""
    import torch
    with torch.no_grad():
        read = torch.zeros(weight.shape[0], dtype=torch.bool).index_fill(0, indices.flatten(), True)
        norm = weight.norm(norm_type, 1)
        return weight.mul_(torch.where(read & (norm > max_norm), max_norm / (norm + 1e-7), 1.0).unsqueeze(1))


def _segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Of rows that lie behind each other, lengths of them each, along the axis."""
    import torch
    import torch.nn.functional as F
    if indices is not None:
        raise NotImplementedError('segment_reduce(): indices based reduction is not supported yet.')
    if offsets is None:
        offsets = F.pad(lengths.cumsum(-1), (1, 0))
    n, size = offsets.shape[-1] - 1, data.shape[axis]
    row = torch.arange(size, dtype=offsets.dtype).unsqueeze(-1)
    segment = (row >= offsets[..., 1:].unsqueeze(-2)).sum(-1)  # n: behind the last
    inside = (segment < n) & (row.squeeze(-1) >= offsets[..., :1])
    tail = (1,) * (data.ndim - axis - 1)
    at = torch.where(inside, segment, n).reshape(tuple(segment.shape) + tail).expand(data.shape)
    start = {'sum': 0.0, 'mean': 0.0, 'prod': 1.0, 'max': -torch.inf, 'min': torch.inf}[reduce]
    shape = tuple(data.shape[:axis]) + (n + 1,) + tuple(data.shape[axis + 1:])
    out = torch.full(shape, start if initial is None else initial, dtype=data.dtype)
    how = {'sum': 'sum', 'mean': 'sum', 'prod': 'prod', 'max': 'amax', 'min': 'amin'}[reduce]
    out = out.scatter_reduce(axis, at, data, how).narrow(axis, 0, n)
    if reduce != 'mean':
        return out
    count = (offsets[..., 1:] - offsets[..., :-1]).reshape(tuple(offsets.shape[:-1]) + (n,) + tail)
    return torch.where(count == 0, torch.nan if initial is None else initial, out / count.clamp(min=1)).to(data.dtype)


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    return _segment_reduce(data, reduce, lengths=lengths, indices=indices, offsets=offsets, axis=axis, unsafe=unsafe, initial=initial)


def dropout(input, p, train):
    return _of('dropout')(input, p, train)


def alpha_dropout(input, p, train):
    return _of('alpha_dropout')(input, p, train)


def feature_alpha_dropout(input, p, train):
    return _of('feature_alpha_dropout')(input, p, train)


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """Modes are said by number."""
    return _of('grid_sample')(input, grid, ('bilinear', 'nearest', 'bicubic')[interpolation_mode],
                              ('zeros', 'border', 'reflection')[padding_mode], align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def dropout_(input, p, train):
    return input.copy_(dropout(input, p, train))


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    return _of('rrelu')(input, lower, upper, training)


def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True):
    return _of('batch_norm')(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=True):
    return _of('instance_norm')(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def _moments(x, dims, eps):
    """The mean, and one over the standard deviation."""
    return x.mean(dims, keepdim=True), (x.var(dims, correction=0, keepdim=True) + eps).rsqrt()


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    return (_of('layer_norm')(input, normalized_shape, weight, bias, eps), *_moments(input.detach(), dims, eps))


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    mean, scale = _moments(input.reshape(N, group, C // group * HxW), [2], eps)
    return _of('group_norm')(input, group, weight, bias, eps), mean.squeeze(-1), scale.squeeze(-1)


def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """What is kept for the gradient is empty where nothing was measured."""
    mean, scale = _moments(input.detach(), [d for d in range(input.ndim) if d != 1], eps)
    out = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    if not training:
        return out, input.new_zeros(0), input.new_zeros(0)
    return out, mean.flatten(), scale.flatten()


def _native_batch_norm_legit(input, weight, bias, *rest):
    """With running values, which are updated, or without any."""
    running = rest[:2] if len(rest) == 5 else (None, None)
    return native_batch_norm(input, weight, bias, *running, *rest[-3:])


def _softmax_backward_data(grad_output, output, dim, input_dtype):
    import torch
    wide = torch.promote_types(output.dtype, torch.float32)  # as one kernel computes it
    output = output.to(wide)
    product = grad_output.to(wide) * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


def _unsafe_masked_index(self, mask, indices, fill):
    import torch
    places = [x if x is None else x.clamp(0, n - 1) for x, n in zip(indices, self.shape)]
    return torch.where(mask, self[tuple([slice(None) if x is None else x for x in places])], fill)


def _unsafe_masked_index_put_accumulate(self, mask, indices, values):
    import torch
    places = [x if x is None else x.clamp(0, n - 1) for x, n in zip(indices, self.shape)]
    return self.index_put(tuple([slice(None) if x is None else x for x in places]), torch.where(mask, values, 0), accumulate=True)


def _in_place(name):
    return lambda self, *args, **kwargs: getattr(self, name)(*args, **kwargs)


(zero_, fill_, resize_as_, deg2rad_, rad2deg_, i0_, logit_, negative_, index_put_, addmv_, ldexp_, sinc_, gcd_, lcm_,
 conj_physical_) = [_in_place(name) for name in (
    'zero_', 'fill_', 'resize_as_', 'deg2rad_', 'rad2deg_', 'i0_', 'logit_', 'negative_', 'index_put_', 'addmv_', 'ldexp_', 'sinc_',
    'gcd_', 'lcm_', 'conj_physical_')]


def empty_strided(size, stride, dtype=None, device=None, **placement):
    """Elements in the order of memory that the strides are of, of which nobody can ask here."""
    import torch
    return torch.empty(size, dtype=dtype, device=device)


def empty_permuted(size, physical_layout, dtype=None, device=None, **placement):
    import torch
    return torch.empty(size, dtype=dtype, device=device)


def unravel_index(indices, shape):
    """Numbers of elements in order  ->  for each dimension, where they are."""
    out, sizes, indices = [], [shape] if isinstance(shape, int) else list(shape), indices.long()
    for n in sizes[::-1]:
        out.append(indices % n)
        indices = indices // n
    return tuple(out[::-1])


def frobenius_norm(input, dim=(), keepdim=False):
    return input.norm(2, list(dim) or None, keepdim)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    import torch
    return torch.as_tensor(obj, dtype=dtype, device=device)


def _weight_norm(v, g, dim=0):
    """v, in each of dim, or in all, of the length g."""
    return v * (g / norm_except_dim(v, 2, dim))


def norm_except_dim(v, pow=2, dim=0):
    """The norm over all dimensions but dim; over all, without dimensions, where dim is -1."""
    import torch.linalg
    if dim == -1:
        return torch.linalg.vector_norm(v, pow)
    return torch.linalg.vector_norm(v, pow, [d for d in range(v.ndim) if d != dim % v.ndim], keepdim=True)


def _native_multi_head_attention(*args, **kwargs):
    import torch._aten
    return torch._aten._native_multi_head_attention(*args, **kwargs)


def _chunk_cat(tensors, dim, num_chunks):
    """Each is padded by zeros to chunks of a size, which become rows: chunk by chunk, one tensor's beside another's."""
    import torch
    rows, dim = [], dim % tensors[0].ndim
    for x in tensors:
        size = -(-x.shape[dim] // num_chunks)
        end = [0, 0] * (x.ndim - 1 - dim) + [0, size * num_chunks - x.shape[dim]]
        whole = torch.nn.functional.pad(x, end)
        rows.append(whole.reshape(*x.shape[:dim], num_chunks, -1))
    return torch.cat(rows, -1)


def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    from torch._quantize import per_tensor
    return per_tensor(input, scale, zero_point, quant_min, quant_max)


def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    from torch._quantize import per_channel
    return per_channel(input, scale, zero_point, axis, quant_min, quant_max)
