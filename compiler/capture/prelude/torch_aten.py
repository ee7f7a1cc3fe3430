"""torch.ops.aten: the operators by the names that graphs have after torch.compile's decompositions, those that torch has not.

    torch.ops.aten.slice.Tensor(x, 1, 0, 5)    x[:, 0:5]"""
import torch
import torch.func
import torch.nn.functional as F
from _warpsmith import refuse

builtin_slice = slice


def _to_copy(input, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    return input.to(dtype) if dtype is not None and dtype != input.dtype else input.clone()


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    n = weight.ndim - 2
    if transposed:
        return (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1](
            input, weight, bias, stride, padding, output_padding, groups, dilation)
    return (F.conv1d, F.conv2d, F.conv3d)[n - 1](input, weight, bias, stride, padding, dilation, groups)


_convolution = convolution


def _softmax(input, dim, half_to_float=False):
    return torch.softmax(input, dim, dtype=torch.float32 if half_to_float else None)


def _log_softmax(input, dim, half_to_float=False):
    return torch.log_softmax(input, dim, dtype=torch.float32 if half_to_float else None)


def _safe_softmax(input, dim, dtype=None):
    none = (input == -torch.inf).all(dim, keepdim=True)
    return torch.where(none, 0.0, torch.softmax(torch.where(none, 0.0, input), dim, dtype=dtype))


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return F.embedding(indices, weight, padding_idx if padding_idx >= 0 else None, scale_grad_by_freq=scale_grad_by_freq)


def native_dropout(input, p, train):
    kept = F.dropout(torch.ones_like(input), p, bool(train))
    return input * kept, kept != 0


def slice(input, dim=0, start=None, end=None, step=1):
    n, size = dim % input.ndim, input.size(dim)
    at = lambda i: None if i is None or i >= size else i
    return input[(builtin_slice(None),) * n + (builtin_slice(at(start), at(end), step),)]


def index(input, indices):
    return input[tuple([builtin_slice(None) if i is None else i for i in indices])]


_unsafe_index = index


def index_put(input, indices, values, accumulate=False):
    return input.index_put(tuple([torch.arange(input.size(d)) if i is None else i for d, i in enumerate(indices)]), values, accumulate)


def view(input, size):
    return input.view(size)


_unsafe_view = reshape = lambda input, size: input.reshape(size)
expand = lambda input, size, implicit=False: input.expand(size)
repeat = lambda input, repeats: input.repeat(repeats)
alias = lift_fresh_copy = lift_fresh = lambda input: input
copy = lambda input, src, non_blocking=False: src.to(input.dtype).expand(input.shape)
constant_pad_nd = lambda input, pad, value=0: F.pad(input, pad, 'constant', value)
_assert_async = _assert_scalar = _assert_tensor_metadata = lambda *args, **kwargs: None
sym_size = lambda input, dim: input.size(dim)
sym_numel = lambda input: input.numel()


def _local_scalar_dense(input):
    return input.item()


def _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps):
    none = input.new_empty(0)
    return F.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps), none, none


def _native_batch_norm_legit_functional(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """Output, saved mean and reciprocal deviation, and the running statistics as they are afterwards."""
    mean, deviation = running_mean.clone(), running_var.clone()
    out, saved, scale = torch.native_batch_norm(input, weight, bias, mean, deviation, training, momentum, eps)
    return out, saved, scale, mean, deviation


def _attention(query, key, value, bias, dropout_p, is_causal, scale):
    return F.scaled_dot_product_attention(query, key, value, bias, dropout_p, is_causal, scale=scale)


def _attention_results(out, n):
    return (out,) + (None,) * (n - 1)


def _scaled_dot_product_flash_attention(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    return _attention_results(_attention(query, key, value, None, dropout_p, is_causal, scale), 9)


def _scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = query.detach().to(wide) @ key.detach().to(wide).mT
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask.detach()
    return _attention(query, key, value, attn_mask, dropout_p, is_causal, scale), scores.logsumexp(-1)


def _scaled_dot_product_efficient_attention(query, key, value, attn_bias, compute_log_sumexp=True, dropout_p=0.0, is_causal=False, *,
                                            scale=None):
    return _attention_results(_attention(query, key, value, attn_bias, dropout_p, is_causal, scale), 4)


def _scaled_dot_product_cudnn_attention(query, key, value, attn_bias, compute_log_sumexp=True, dropout_p=0.0, is_causal=False,
                                        return_debug_mask=False, *, scale=None):
    return _attention_results(_attention(query, key, value, attn_bias, dropout_p, is_causal, scale), 9)


def _scaled_dot_product_fused_attention_overrideable(query, key, value, attn_bias=None, dropout_p=0.0, is_causal=False,
                                                     return_debug_mask=False, *, scale=None):
    return _attention_results(_attention(query, key, value, attn_bias, dropout_p, is_causal, scale), 9)


def _native_multi_head_attention(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask=None,
                                 need_weights=True, average_attn_weights=True, mask_type=None):
    """nn.MultiheadAttention of [batch, n, embed_dim] in eval. mask hides where it is True: [n, n] if mask_type is 0, of keys if 1."""
    if query is key and key is value:
        parts = F.linear(query, qkv_weight, qkv_bias).chunk(3, -1)
    else:
        parts = [F.linear(x, w, b) for x, w, b in zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3))]
    q, k, v = [x.unflatten(-1, (num_head, embed_dim // num_head)).transpose(1, 2) for x in parts]
    if mask is not None:
        mask = ~mask.bool()
        mask = mask[:, None, None, :] if mask_type == 1 else mask
    if need_weights:
        scores = q @ k.transpose(-2, -1) * (embed_dim // num_head) ** -0.5
        weights = F.softmax(scores if mask is None else scores.masked_fill(~mask, -float('inf')), -1)
        out = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        out, weights = F.scaled_dot_product_attention(q, k, v, mask), None
    return F.linear(out.transpose(1, 2).flatten(2), proj_weight, proj_bias), weights


# -- derivatives, as graphs of training steps have them


def threshold_backward(grad, input, threshold):
    return torch.where(input <= threshold, 0, grad)


def gelu_backward(grad, input, approximate='none'):
    if approximate == 'none':
        inner = 0.5 * (1 + torch.erf(input * 0.7071067811865476))
        return grad * (inner + input * torch.exp(input * input * -0.5) * 0.3989422804014327)
    inner = torch.tanh(0.7978845608028654 * (input + 0.044715 * input * input * input))
    return grad * (0.5 * (1 + inner) + 0.5 * input * (1 - inner * inner) * 0.7978845608028654 * (1 + 3 * 0.044715 * input * input))


def silu_backward(grad, input):
    s = torch.sigmoid(input)
    return grad * s * (1 + input * (1 - s))


def sigmoid_backward(grad, output):
    return grad * (1 - output) * output


def tanh_backward(grad, output):
    return grad * (1 - output * output)


def hardtanh_backward(grad, input, min_val, max_val):
    return torch.where((input <= min_val) | (input >= max_val), 0, grad)


def leaky_relu_backward(grad, input, negative_slope, self_is_result=False):
    return torch.where(input > 0, grad, grad * negative_slope)


def _log_softmax_backward_data(grad, output, dim, input_dtype):
    return (grad - torch.exp(output) * grad.sum(dim, keepdim=True)).to(input_dtype)


def native_dropout_backward(grad, mask, scale):
    return grad * mask * scale


def embedding_dense_backward(grad, indices, num_weights, padding_idx=-1, scale_grad_by_freq=False):
    if scale_grad_by_freq:
        refuse('embedding_dense_backward with scale_grad_by_freq is not supported')
    rows = grad.reshape(-1, grad.size(-1))
    flat = indices.reshape(-1)
    if padding_idx >= 0:
        rows = torch.where((flat == padding_idx).unsqueeze(1), 0, rows)
    return torch.zeros(num_weights, grad.size(-1), dtype=grad.dtype).index_add(0, flat, rows)


def select_backward(grad, input_sizes, dim, index):
    return torch.select_scatter(torch.zeros(input_sizes, dtype=grad.dtype), grad, dim, index)


def slice_backward(grad, input_sizes, dim, start, end, step):
    return torch.slice_scatter(torch.zeros(input_sizes, dtype=grad.dtype), grad, dim, start, end, step)


def native_layer_norm_backward(grad, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    inner = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    outer = tuple(range(input.ndim - len(normalized_shape)))
    x = (input - mean) * rstd
    g = grad if weight is None else grad * weight
    dx = rstd * (g - g.mean(inner, keepdim=True) - x * (g * x).mean(inner, keepdim=True))
    over = lambda t: t.sum(outer) if outer else t
    return (dx.to(input.dtype) if output_mask[0] else None, over(grad * x).to(grad.dtype) if output_mask[1] else None,
            over(grad) if output_mask[2] else None)


def convolution_backward(grad, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask):
    """By the convolution's own derivatives."""
    out, back = torch.func.vjp(
        lambda x, w: convolution(x, w, None, stride, padding, dilation, transposed, output_padding, groups), input, weight)
    dx, dw = back(grad)
    over = [0] + list(range(2, grad.ndim))
    return dx if output_mask[0] else None, dw if output_mask[1] else None, grad.sum(over) if output_mask[2] else None
