/* Every composite means the same before and after decomposition, on random inputs and on edge
 * shapes; so does every graph before and after simplification. */
#include "graph_test.h"

/* inputs of %x %y %z ..., call. Float inputs are f32 unless said otherwise, so no cast rounds. */
static const struct {
    const char *inputs, *call;
} cases[] = {
    {"%x: f32[4, 8]", "softmax(%x, dim=-1)"},
    {"%x: f32[4, 8]", "softmax(%x, 0)"},
    {"%x: f32[3, 4, 5]", "softmax(%x, 1)"},
    {"%x: f32[]", "softmax(%x, 0)"},
    {"%x: f32[0, 8]", "softmax(%x, 1)"},
    {"%x: f32[8, 0]", "softmax(%x, 1)"},
    {"%x: f32[8, 1]", "softmax(%x, 1)"},
    {"%x: i64[8, 3]", "softmax(%x, 1)"},
    {"%x: f32[8, 3]", "softmax(%x, 1, dtype=f64)"},
    {"%x: f32[4, 8]", "log_softmax(%x, -1)"},
    {"%x: f32[4, 8, 2]", "log_softmax(%x, 1)"},
    {"%x: f32[4, 8]", "logsumexp(%x, 1)"},
    {"%x: f32[4, 8, 3]", "logsumexp(%x, [0, 2], keepdim=True)"},
    {"%x: f32[4, 0]", "logsumexp(%x, 1)"},
    {"%x: f32[4, 8]", "mean(%x)"},
    {"%x: f32[4, 8]", "mean(%x, 1, True)"},
    {"%x: f32[4, 8, 2]", "mean(%x, [0, -1])"},
    {"%x: f32[4, 0]", "mean(%x, 1)"},
    {"%x: f32[]", "mean(%x)"},
    {"%x: i64[4, 3]", "mean(%x, 1, dtype=f32)"},
    {"%x: f32[4, 8]", "var(%x)"},
    {"%x: f32[4, 8]", "var(%x, 1, correction=0)"},
    {"%x: f32[4, 8]", "var(%x, dim=0, unbiased=False, keepdim=True)"},
    {"%x: f32[4, 1]", "var(%x, 1)"},
    {"%x: f32[4, 8]", "std(%x, 1)"},
    {"%x: f32[4, 8, 3]", "std(%x, [0, 1], correction=2, keepdim=True)"},
    {"%x: f32[4, 8]", "norm(%x)"},
    {"%x: f32[4, 8]", "norm(%x, 1, 1)"},
    {"%x: f32[4, 8]", "norm(%x, 0, 1)"},
    {"%x: f32[4, 8]", "norm(%x, 3, [0], True)"},
    {"%x: f32[4, 8]", "norm(%x, 2.5, 1)"},
    {"%x: f32[4, 8]", "norm(%x, inf, 1)"},
    {"%x: f32[4, 8]", "norm(%x, -inf, 1)"},
    {"%x: f32[4, 8]", "normalize(%x)"},
    {"%x: f32[4, 8, 2]", "normalize(%x, p=1, dim=-1)"},
    {"%x: f32[4, 8]", "max(%x)"},
    {"%x: i64[4, 8]", "min(%x)"},
    {"%x: f32[4, 8]", "max_dim(%x, 1)"},
    {"%x: i64[4, 8]", "min_dim(%x, 0, True)"},
    {"%x: bool[4, 8]", "any(%x, 1)"},
    {"%x: f32[4, 8]", "any(%x)"},
    {"%x: bool[4, 2]", "all(%x, 1, True)"},
    {"%x: bool[4, 0]", "all(%x, 1)"},
    {"%x: bool[4, 0]", "any(%x, 1)"},
    {"%x: f32[4, 8]", "layer_norm(%x, [8])"},
    {"%x: f32[4, 8], %y: f32[8], %z: f32[8]", "layer_norm(%x, 8, %y, %z, 0.001)"},
    {"%x: f32[4, 3, 5], %y: f32[3, 5]", "layer_norm(%x, [3, 5], %y)"},
    {"%x: f32[0, 8]", "layer_norm(%x, [8])"},
    {"%x: f32[4, 8], %y: f32[8]", "rms_norm(%x, [8], %y)"},
    {"%x: f32[2, 4, 8]", "rms_norm(%x, [4, 8], eps=0.1)"},
    {"%x: f32[2, 6, 5], %y: f32[6], %z: f32[6]", "group_norm(%x, 3, %y, %z)"},
    {"%x: f32[2, 6]", "group_norm(%x, 2)"},
    {"%x: f32[2, 3, 4], %m: f32[3], %v: f32[3], %y: f32[3], %z: f32[3]",
     "batch_norm(%x, %m, %v, %y, %z, eps=9.0)"},
    {"%x: f32[2, 3], %m: f32[3], %v: f32[3]", "batch_norm(%x, %m, %v, eps=9.0)"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "mse_loss(%x, %y)"},
    {"%x: f32[4, 8], %y: f32[8]", "mse_loss(%x, %y, reduction='sum')"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "l1_loss(%x, %y)"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "l1_loss(%x, %y, reduction='none')"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "smooth_l1_loss(%x, %y, beta=0.5)"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "smooth_l1_loss(%x, %y, beta=0)"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "huber_loss(%x, %y, 'sum', 0.7)"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "binary_cross_entropy(%x, %y)"},
    {"%x: f32[4, 8], %y: f32[4, 8], %w: f32[8]", "binary_cross_entropy(%x, %y, %w, 'none')"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "binary_cross_entropy_with_logits(%x, %y)"},
    {"%x: f32[4, 8], %y: f32[4, 8], %w: f32[8], %p: f32[8]",
     "binary_cross_entropy_with_logits(%x, %y, %w, 'sum', %p)"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "kl_div(%x, %y, log_target=True)"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "kl_div(%x, %y, reduction='batchmean')"},
    {"%x: f32[4, 8], %y: i64[4, 8]", "hinge_embedding_loss(%x, %y, 0.5)"},
    {"%x: f32[8], %y: f32[8], %z: i64[8]", "margin_ranking_loss(%x, %y, %z, 0.25)"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "soft_margin_loss(%x, %y)"},
    {"%x: f32[4, 8], %y: i64[4, 8]", "poisson_nll_loss(%x, %y)"},
    {"%x: f32[4, 8], %y: f32[4, 8]", "poisson_nll_loss(%x, %y, False, True, reduction='none')"},
    {"%x: f32[4, 8], %y: f32[4, 8], %v: f32[4, 1]", "gaussian_nll_loss(%x, %y, %v, True)"},
    {"%x: f32[4, 8], %y: f32[4, 8], %v: f32[4, 8]", "gaussian_nll_loss(%x, %y, %v, eps=0.5)"},
    {"%x: f32[9, 5], %t: i64[9]", "nll_loss(%x, %t)"},
    {"%x: f32[9, 5, 2], %t: i64[9, 2], %w: f32[5]", "nll_loss(%x, %t, %w, 1, 'none')"},
    {"%x: f32[5], %t: i64[]", "nll_loss(%x, %t)"},
    {"%x: f32[9, 5], %t: i64[9]", "cross_entropy(%x, %t)"},
    {"%x: f32[9, 5], %t: i64[9], %w: f32[5]", "cross_entropy(%x, %t, %w)"},
    {"%x: f32[9, 5], %t: i64[9], %w: f32[5]",
     "cross_entropy(%x, %t, %w, 2, 'mean', label_smoothing=0.1)"},
    {"%x: f32[9, 5], %t: i64[9]", "cross_entropy(%x, %t, None, -3, 'none', 0.25)"},
    {"%x: f32[2, 5, 3, 4], %t: i64[2, 3, 4]", "cross_entropy(%x, %t, reduction='sum')"},
    {"%x: f32[9, 5], %t: f32[9, 5], %w: f32[5]", "cross_entropy(%x, %t, %w)"},
    {"%x: f32[2, 5, 3], %t: f32[2, 5, 3]", "cross_entropy(%x, %t, label_smoothing=0.1)"},
    {"%x: f32[5], %t: i64[]", "cross_entropy(%x, %t)"},
    {"%x: f32[2, 3, 4], %y: f32[3], %z: f32[3]",
     "batch_norm(%x, None, None, %y, %z, training=True)"},
    {"%x: f32[7, 3]", "batch_norm(%x, None, None, training=True)"},
    {"%x: f32[2, 4, 3], %y: f32[2, 4, 5], %z: f32[2, 5, 3]",
     "baddbmm(%x, %y, %z, beta=0.5, alpha=2)"},
    {"%x: f32[3], %y: f32[2, 4, 5], %z: f32[2, 5, 3]", "baddbmm(%x, %y, %z)"},
    {"%x: f32[100]", "celu(%x, 1.5)"},
    {"%x: f32[4, 8], %y: f32[8]", "prelu(%x, %y)"},
    {"%x: f32[100]", "hardshrink(%x)"},
    {"%x: f32[100]", "softshrink(%x, 0.75)"},
    {"%x: f32[100]", "tanhshrink(%x)"},
    {"%x: f32[100]", "threshold(%x, 0.1, 20)"},
    {"%x: i64[100]", "threshold(%x, 1, 20)"},
    {"%x: f32[100]", "frac(%x)"},
    {"%x: f32[4, 8], %y: f32[8]", "fmax(%x, %y)"},
    {"%x: i64[4, 8], %y: i64[8]", "fmin(%x, %y)"},
    {"%x: f32[4, 8], %y: f32[8]", "logaddexp(%x, %y)"},
    {"%x: i64[4, 8], %y: f32[8]", "xlogy(%x, %y)"},
    {"%y: f32[8]", "xlogy(0, %y)"},
    {"%x: f32[4, 8]", "nan_to_num(%x, 0.5)"},
    {"%x: i64[8]", "nan_to_num(%x)"},
    {"%x: f32[100]", "gelu(%x)"},
    {"%x: f32[100]", "gelu(%x, approximate='tanh')"},
    {"%x: f32[100]", "silu(%x)"},
    {"%x: f32[]", "silu(%x)"},
    {"%x: f32[100]", "square(%x)"},
    {"%x: i64[100]", "square(%x)"},
    {"%x: f32[100]", "clamp(%x, -0.5, 0.5)"},
    {"%x: f32[100]", "clamp(%x, max=0.25)"},
    {"%x: f32[4, 8], %y: f32[8]", "clamp(%x, min=%y)"},
    {"%x: i64[100]", "clamp(%x, 0, 2)"},
    {"%x: f32[100]", "clamp_min(%x, 0)"},
    {"%x: f32[100]", "clamp_max(%x, 0.1)"},
    {"%x: f32[100]", "softplus(%x)"},
    {"%x: f32[100]", "softplus(%x, beta=2.0, threshold=1)"},
    {"%x: f32[100]", "softsign(%x)"},
    {"%x: f32[100]", "leaky_relu(%x)"},
    {"%x: f32[100]", "leaky_relu(%x, 0.2)"},
    {"%x: f32[100]", "elu(%x, 1.5)"},
    {"%x: f32[100]", "selu(%x)"},
    {"%x: f32[100]", "relu6(%x)"},
    {"%x: f32[100]", "hardtanh(%x)"},
    {"%x: f32[100]", "hardsigmoid(%x)"},
    {"%x: f32[100]", "hardswish(%x)"},
    {"%x: f32[100]", "mish(%x)"},
    {"%x: f32[100]", "logsigmoid(%x)"},
    {"%x: f32[4, 8], %y: f32[8], %z: f32[4, 1]", "addcmul(%x, %y, %z)"},
    {"%x: f32[4, 8], %y: f64[8]", "error_round(%x, %y, 0.1, 1.5, 1e-3)"},
    {"%x: f32[4, 8], %y: f64[8], %z: f32[4, 1]", "error_product(%x, %y, %z, 0.5)"},
    {"%x: f32[4, 8], %y: f64[8], %z: f32[4, 1]", "error_quotient(%x, 0.25, %z, %y)"},
    {"%x: f32[4, 8], %z: f32[4, 1]", "error_quotient(%x, 0, %z, 0)"},
    {"%x: f32[4, 8], %y: f64[8], %z: f32[4, 1]", "error_flip(%x, %y, %z, 0.25)"},
    {"%x: f32[4, 8], %y: f32[8], %z: f32[4, 1]", "addcmul(%x, %y, %z, value=0.5)"},
    {"%x: f32[4, 8], %y: f32[8], %z: f32[4, 1]", "addcdiv(%x, %y, %z, value=3)"},
    {"%x: f32[4, 8], %y: f32[8]", "lerp(%x, %y, 0.3)"},
    {"%x: f32[4, 8], %y: f32[8], %z: f32[4, 1]", "lerp(%x, %y, %z)"},
    {"%x: f32[4, 8], %y: bool[8]", "masked_fill(%x, %y, -inf)"},
    {"%x: i64[4, 8], %y: bool[4, 1]", "masked_fill(%x, %y, 7)"},
    {"%x: f32[4, 1], %y: bool[2, 1, 8]", "masked_fill(%x, %y, 7)"},
    {"%x: bool[9]", "bitwise_not(%x)"},
    {"%x: i64[9]", "bitwise_not(%x)"},
    {"%x: i64[9]", "float(%x)"},
    {"%x: f32[9]", "half(%x)"},
    {"%x: f32[9]", "bfloat16(%x)"},
    {"%x: bf16[9]", "double(%x)"},
    {"%x: f32[9]", "long(%x)"},
    {"%x: f32[9]", "int(%x)"},
    {"%x: f32[9]", "short(%x)"},
    {"%x: f32[9]", "char(%x)"},
    {"%x: i64[9]", "byte(%x)"},
    {"%x: i8[9]", "pow(%x, 3)"},
    {"%x: u8[9]", "bitwise_not(%x)"},
    {"%x: i8[40]", "prod(%x, dtype=i8)"},
    {"%x: u8[4, 5], %y: u8[5, 3]", "mm(%x, %y)"},
    {"%x: f32[9]", "bool(%x)"},
    {"%x: f32[9], %y: bf16[2]", "type_as(%x, %y)"},
    {"%x: f32[5], %y: f32[5]", "matmul(%x, %y)"},
    {"%x: f32[5], %y: f32[5, 3]", "matmul(%x, %y)"},
    {"%x: f32[4, 5], %y: f32[5]", "matmul(%x, %y)"},
    {"%x: f32[4, 5], %y: f32[5, 3]", "matmul(%x, %y)"},
    {"%x: f32[2, 4, 5], %y: f32[5, 3]", "matmul(%x, %y)"},
    {"%x: f32[2, 4, 5], %y: f32[5]", "matmul(%x, %y)"},
    {"%x: f32[4, 5], %y: f32[2, 5, 3]", "matmul(%x, %y)"},
    {"%x: f32[5], %y: f32[2, 5, 3]", "matmul(%x, %y)"},
    {"%x: f32[2, 1, 4, 5], %y: f32[3, 5, 6]", "matmul(%x, %y)"},
    {"%x: f32[4, 0], %y: f32[0, 3]", "matmul(%x, %y)"},
    {"%x: f32[4, 5], %y: f32[3, 5], %z: f32[3]", "linear(%x, %y, %z)"},
    {"%x: f32[5], %y: f32[3, 5]", "linear(%x, %y)"},
    {"%x: f32[2, 4, 5], %y: f32[3, 5], %z: f32[3]", "linear(%x, %y, %z)"},
    {"%x: f32[3], %y: f32[4, 5], %z: f32[5, 3]", "addmm(%x, %y, %z)"},
    {"%x: f32[4, 3], %y: f32[4, 5], %z: f32[5, 3]", "addmm(%x, %y, %z, beta=0.5, alpha=2)"},
    {"%x: f32[4, 3], %y: f32[4, 5], %z: f32[5, 3]", "addmm(%x, %y, %z, beta=0)"},
    {"%q: f32[2, 3, 5, 4], %k: f32[2, 3, 7, 4], %v: f32[2, 3, 7, 6]",
     "scaled_dot_product_attention(%q, %k, %v)"},
    {"%q: f32[2, 5, 4], %k: f32[1, 5, 4], %v: f32[2, 5, 4]",
     "scaled_dot_product_attention(%q, %k, %v, is_causal=True, scale=0.5)"},
    {"%q: f32[5, 4], %k: f32[7, 4], %v: f32[7, 4], %m: f32[5, 7]",
     "scaled_dot_product_attention(%q, %k, %v, %m)"},
    {"%q: f32[2, 5, 4], %k: f32[2, 3, 4], %v: f32[2, 3, 4], %m: bool[5, 1]",
     "scaled_dot_product_attention(%q, %k, %v, attn_mask=%m)"},
    {"%x: f32[2, 3, 4]", "flatten(%x, 1)"},
    {"%x: f32[]", "flatten(%x)"},
    {"%x: f32[2, 12]", "unflatten(%x, 1, [3, -1])"},
    {"%x: f32[2, 3, 4]", "transpose(%x, 0, -1)"},
    {"%x: f32[2, 3]", "t(%x)"},
    {"%x: f32[2, 3, 4]", "mT(%x)"},
    {"%x: f32[2, 3, 4]", "movedim(%x, 0, 2)"},
    {"%x: f32[2, 3, 4]", "movedim(%x, [0, 1], [2, 0])"},
    {"%x: f32[2, 9]", "narrow(%x, 1, 2, 5)"},
    {"%x: f32[2, 9]", "narrow(%x, 1, -3, 2)"},
    {"%x: f32[2, 9, 2]", "select(%x, 1, -1)"},
    {"%x: f32[9]", "select(%x, 0, 3)"},
    {"%x: f32[4, 1], %y: f32[2, 4, 3]", "expand_as(%x, %y)"},
    {"%x: f32[4, 6], %y: f32[8, 3]", "view_as(%x, %y)"},
    {"%x: f32[4, 6]", "contiguous(%x)"},
    {"%x: f32[4, 6]", "clone(%x)"},
    {"%x: f32[4, 6]", "detach(%x)"},
    {"%x: f32[4, 6], %y: f32[4, 6]", "set_data(%x, %y)"},
    {"%x: f32[2, 4, 6]", "tril(%x)"},
    {"%x: f32[6, 4]", "tril(%x, -1)"},
    {"%x: f32[4, 6]", "triu(%x, diagonal=1)"},
    {"%x: bool[4, 6]", "triu(%x)"},
    {"%x: f32[2, 3], %y: f32[2, 3]", "stack([%x, %y], -1)"},
    {"%x: f32[]", "stack([%x])"},
    {"%x: f32[2, 3]", "pad(%x, [1, 2])"},
    {"%x: f32[2, 3]", "pad(%x, [-1, 2, 0, 1], value=0.5)"},
    {"%x: f32[2, 5]", "pad(%x, [4, 3], 'reflect')"},
    {"%x: f32[2, 5]", "pad(%x, [7, 0, 1, 1], 'replicate')"},
    {"%x: f32[2, 5]", "pad(%x, [5, 3], 'circular')"},
    {"%x: f32[0, 5]", "pad(%x, [1, 1, 2, 0], value=3)"},
    {"%x: f32[5, 6]", "roll(%x, [2, -7], [0, 1])"},
    {"%x: f32[5, 6]", "roll(%x, 8)"},
    {"%x: f32[]", "roll(%x, 3)"},
    {"%x: f32[2, 3]", "repeat(%x, 2, 1, 3)"},
    {"%x: f32[2, 3]", "repeat(%x, [0, 2])"},
    {"%x: f32[]", "repeat(%x, 4)"},
    {"%x: f32[2, 1]", "repeat(%x, 1, 3)"},
    {"%x: f32[2, 3]", "tile(%x, [2])"},
    {"%x: f32[2, 3]", "repeat_interleave(%x, 3, -1)"},
    {"%x: f32[2, 3]", "repeat_interleave(%x, 2)"},
    {"%x: f32[3, 1]", "repeat_interleave(%x, 2, 1)"},
    {"%x: f32[4, 6]", "diagonal(%x, -1)"},
    {"%x: f32[4, 2, 6]", "diagonal(%x, 2, 0, 2)"},
    {"%x: f32[4, 2, 6]", "diagonal(%x, 1, -1, 0)"},
    {"%x: f32[3, 4]", "diagonal(%x, 9)"},
    {"%x: f32[4, 6]", "diag(%x, 2)"},
    {"%x: f32[4]", "diag(%x, -2)"},
    {"%x: f32[4]", "diag(%x, 1)"},
    {"%x: f32[3]", "diag(%x)"},
    {"", "eye(3)"},
    {"", "eye(3, 5, dtype=i64)"},
    {"%x: f32[2, 3, 9, 8]", "max_pool(%x, [2])"},
    {"%x: f32[3, 9, 8]", "max_pool(%x, [3, 2], [2, 3], [1, 0])"},
    {"%x: f32[2, 3, 9, 9]", "max_pool(%x, [2], 3, dilation=2, ceil_mode=True)"},
    {"%x: i64[3, 9]", "max_pool(%x, [3], 1, 1, spatial=1)"},
    {"%x: i8[3, 9]", "max_pool(%x, [3], 1, 1, spatial=1)"},
    {"%x: f32[2, 2, 4, 5, 6]", "max_pool(%x, [2], spatial=3)"},
    {"%x: f32[2, 3, 9, 8]", "avg_pool(%x, [2, 3])"},
    {"%x: f32[2, 3, 9, 8]", "avg_pool(%x, [3], 2, 1)"},
    {"%x: f32[2, 3, 9, 8]", "avg_pool(%x, [3], 2, 1, count_include_pad=False)"},
    {"%x: f32[2, 3, 9, 8]", "avg_pool(%x, [3], 2, 1, ceil_mode=True)"},
    {"%x: f32[3, 8]", "avg_pool(%x, [3], 2, 1, True, False, spatial=1)"},
    {"%x: f32[3, 9, 8]", "avg_pool(%x, [2], divisor_override=3)"},
    {"%x: f32[2, 3, 8, 6]", "adaptive_avg_pool(%x, [4, 3])"},
    {"%x: f32[2, 3, 7, 5]", "adaptive_avg_pool(%x, [3, 7])"},
    {"%x: f32[3, 7]", "adaptive_avg_pool(%x, [1])"},
    {"%x: f32[1, 2, 5, 6, 7]", "adaptive_avg_pool(%x, [2, 3, 4])"},
    {"%x: f32[2, 3, 7, 6]", "adaptive_max_pool(%x, [3, 2])"},
    {"%x: f32[2, 3, 4, 5]", "upsample_nearest(%x, [8, 5])"},
    {"%x: f32[2, 3, 7]", "upsample_nearest(%x, [4])"},
    {"%x: f32[1, 1, 41]", "upsample_nearest(%x, [82])"},
    {"%x: f32[2, 3, 5, 6]", "im2col(%x, [2, 3])"},
    {"%x: f32[3, 5, 6]", "im2col(%x, [2], [2], [1, 0], [1, 2])"},
    {"%x: f32[2, 9]", "unfold(%x, 1, 4, 2)"},
    {"%x: f32[9, 2]", "unfold(%x, 0, 3, 1)"},
    /* convolutions: images, no batch, one dimension, three, groups, depthwise, all numbers at once;
       transposed ones */
    {"%x: f32[2, 3, 7, 6], %w: f32[4, 3, 3, 2]", "convolution(%x, %w)"},
    {"%x: f32[2, 3, 7, 6], %w: f32[4, 3, 3, 2], %b: f32[4]",
     "convolution(%x, %w, %b, [2, 1], [1, 2], [1, 3])"},
    {"%x: f32[3, 7], %w: f32[4, 3, 3], %b: f32[4]", "convolution(%x, %w, %b, 2, 1, spatial=1)"},
    {"%x: f32[1, 2, 3, 4, 5], %w: f32[3, 2, 2, 2, 2]", "convolution(%x, %w, spatial=3)"},
    {"%x: f32[2, 6, 5, 5], %w: f32[4, 3, 3, 3], %b: f32[4]",
     "convolution(%x, %w, %b, padding=1, groups=2)"},
    {"%x: f32[2, 3, 9], %w: f32[6, 1, 4]", "convolution(%x, %w, padding=3, groups=3, spatial=1)"},
    {"%x: f32[2, 3, 4, 5], %w: f32[3, 4, 3, 2], %b: f32[4]",
     "convolution(%x, %w, %b, [3, 2], [1, 0], [1, 2], True, [2, 1])"},
    {"%x: f32[4, 5], %w: f32[4, 3, 3], %b: f32[6]",
     "convolution(%x, %w, %b, 2, 2, 1, True, 1, 2, 1)"},
    {"%x: bf16[2, 3, 7, 6], %w: bf16[4, 3, 3, 2], %b: bf16[4]", "convolution(%x, %w, %b)"},
    {"%x: f32[0, 3, 7, 6], %w: f32[4, 3, 3, 2]", "convolution(%x, %w)"},
    {"%x: i64[2, 3, 7, 6], %w: i64[4, 3, 3, 2]", "convolution(%x, %w)"},
    {"%x: i8[2, 3, 7, 6], %w: i8[4, 3, 3, 2]", "convolution(%x, %w)"},
    /* the primitives' own special cases */
    {"%x: f32[0], %y: f32[2, 3]", "cat([%x, %y], 1)"},
    {"%x: bf16[2, 3], %y: f32[0, 3]", "cat([%x, %y])"},
    {"%x: f32[2, 3], %y: bf16[1, 3], %z: i64[2, 3]", "cat([%x, %y, %z])"},
    {"%x: f32[0, 3]", "constant_pad_nd(%x, [0, 0, 1, 1], 2)"},
    {"", "zeros([2, 3])"},
    {"", "zeros(2, 3, dtype=i64)"},
    {"", "ones([2, 3], dtype=bf16)"},
    {"", "empty([2])"},
    {"%x: f32[4, 6]", "zeros_like(%x)"},
    {"%x: f32[4, 6]", "tangent([4, 6], 0)"},
    {"%x: f32[4, 6]", "give_gradient(%x, %x, [%x], [%x])"},
    {"%x: i64[4, 6]", "ones_like(%x)"},
    {"%x: i64[4, 6]", "empty_like(%x, dtype=f32)"},
    {"%x: f32[4, 6]", "full_like(%x, 1.5)"},
    {"%x: f32[4, 6]", "rand_like(%x)"},
    {"%x: f32[4, 6]", "randn_like(%x, index=3)"},
    /* primitives with forms that are rewritten */
    {"%x: f32[4, 6], %y: f32[6]", "add(%x, %y, alpha=2)"},
    {"%x: f32[4, 6], %y: f32[6]", "sub(%x, %y, alpha=0.5)"},
    {"%x: f32[4, 6]", "sub(%x, 3, alpha=2)"},
    {"%x: f32[4, 6]", "pow(%x, 2)"},
    {"%x: f32[4, 6]", "pow(%x, 3.0)"},
    {"%x: f32[4, 6]", "pow(%x, -1)"},
    {"%x: f32[4, 6]", "pow(%x, -2)"},
    {"%x: i64[4, 6]", "pow(%x, 2)"},
    {"%x: i64[4, 6]", "floor(%x)"},
    {"%x: bool[4, 6]", "sum(%x, 1)"},
    {"%x: f32[4, 6]", "sum(%x, 1, dtype=i64)"},
    {"%x: bf16[4, 6]", "sum(%x, 1, dtype=f32)"},
};

/* The same; integer inputs are below `indices`. */
static const struct {
    const char *inputs, *call;
    int indices;
} indexed[] = {
    {"%x: f32[9, 4], %i: i64[3]", "index_select(%x, 0, %i)", 9},
    {"%x: f32[2, 9], %i: i32[]", "index_select(%x, -1, %i)", 9},
    {"%x: f32[], %i: i64[1]", "index_select(%x, 0, %i)", 1},
    {"%i: i64[2, 3], %w: f32[9, 4]", "embedding(%i, %w)", 9},
    {"%i: i64[], %w: f32[9, 4]", "embedding(%i, %w, padding_idx=0)", 9},
    {"%i: i64[0], %w: f32[9, 4]", "embedding(%i, %w)", 9},
    {"%x: f32[3, 3], %i: i64[4, 2]", "take(%x, %i)", 9},
    {"%x: f32[2, 9], %i: i64[2, 3]", "take_along_dim(%x, %i, 1)", 9},
    {"%x: f32[2, 9], %i: i64[1, 3]", "take_along_dim(%x, %i, 1)", 9},
    {"%x: f32[1, 9], %i: i64[4, 3]", "take_along_dim(%x, %i, 1)", 9},
    {"%x: f32[3, 3], %i: i64[2, 2]", "take_along_dim(%x, %i)", 9},
    {"%x: f32[9, 4], %i: i64[3, 4], %s: f32[3, 4]", "scatter(%x, 0, %i, %s)", 9},
    {"%x: f32[5, 9], %i: i64[3, 20], %s: f32[4, 20]", "scatter(%x, 1, %i, %s)", 9},
    {"%x: f32[9, 4], %i: i64[3, 4]", "scatter(%x, 0, %i, 1.5)", 9},
    {"%x: f32[9], %i: i64[0], %s: f32[0]", "scatter(%x, 0, %i, %s)", 9},
    {"%x: f32[9, 4], %i: i64[13, 2], %s: f32[13, 3]", "scatter_add(%x, 0, %i, %s)", 9},
    {"%x: i64[9], %i: i64[13], %s: i64[13]", "scatter_add(%x, 0, %i, %s)", 9},
    {"%x: f32[2, 9, 3], %i: i64[4], %s: f32[2, 4, 3]", "index_add(%x, 1, %i, %s, alpha=2)", 9},
    {"%x: f32[9], %i: i64[4], %s: f32[4]", "index_add(%x, 0, %i, %s)", 9},
    {"%i: i64[2, 3]", "one_hot(%i, 9)", 9},
    {"%i: i64[]", "one_hot(%i, 9)", 9},
    {"%x: f32[3], %i: i64[]", "gather(%x, 0, %i)", 3},
    {"%x: f32[], %i: i64[1]", "gather(%x, 0, %i)", 1},
};

static bool close_to(double a, double b, double tolerance) {
    if (a == b || (a != a && b != b)) return true;
    return fabs(a - b) <= tolerance * fmax(1, fmax(fabs(a), fabs(b)));
}

static void make_indices(const struct graph *g, struct value *in, int indices) {
    for (uint32_t k = 0; indices && k < g->inputs.n; k++)
        for (int64_t i = 0; i < in[k].n; i++)
            if (!dtype_is_float(g->nodes.at[g->inputs.at[k].node].meta.dtype))
                in[k].v[i] = floor(random_uniform(3, k, (uint64_t)i) * indices);
}

/* samples: h is decomposed, and computes the same element by element. */
static void compare(const struct graph *g, struct graph *h, double tolerance, int indices,
                    bool samples) {
    struct value in[MAX_TEST_VALUES], before[MAX_TEST_VALUES], after[MAX_TEST_VALUES];
    random_inputs(g, in);
    make_indices(g, in, indices);
    must_eval(g, in, before);
    must_eval(h, in, after);
    for (uint32_t k = 0; k < g->outputs.n; k++) {
        assert_int_equal(before[k].n, after[k].n);
        for (int64_t i = 0; i < before[k].n; i++)
            if (!close_to(value_number(&before[k], i), value_number(&after[k], i), tolerance))
                fail_msg("element %lld: %.17g before, %.17g after\n%s\n%s", (long long)i,
                         value_number(&before[k], i), value_number(&after[k], i), printed(g),
                         printed(h));
    }
    if (samples) must_sample(h, in, after);
    free_values(in, g->inputs.n);
    free_values(before, g->outputs.n);
    free_values(after, g->outputs.n);
}

static void must_verify(struct graph *g, bool decomposed) {
    const char *why = graph_verify(g, decomposed);
    if (why) fail_msg("%s\n%s", why, printed(g));
}

/* Decomposed and simplified graphs are well formed, compute the same and keep the result's type. */
/* The pieces of what is put together have its type. */
static void check_pieces(const struct graph *g) {
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const struct node *n = &g->nodes.at[i];
        for (uint32_t k = 0; n->op == OP_CAT && k < n->args[0].nodes.n; k++)
            assert_int_equal(g->nodes.at[n->args[0].nodes.at[k]].meta.dtype, n->meta.dtype);
    }
}

static void check_graph(struct graph *g, double tolerance, int indices) {
    struct graph *h = graph_decompose(g), *s = graph_simplify(h);
    must_verify(h, true);
    must_verify(s, true);
    check_pieces(h);
    assert_string_equal(result_type(g), result_type(h));
    assert_string_equal(result_type(g), result_type(s));
    compare(g, h, tolerance, indices, true);
    compare(h, s, 0, indices, false);
    compare(g, graph_simplify(g), 0, indices, false);
    if (indices) compare(g, graph_decompose_but_landings(g), tolerance, indices, true);
    /* What it prints parses back. */
    assert_string_equal(printed(must_parse(g->arena, printed(h))), printed(h));
}

enum { N_CASES = sizeof cases / sizeof *cases, N_INDEXED = sizeof indexed / sizeof *indexed };

static void test_means_the_same(void **state) {
    for (int i = 0; i < N_CASES; i++) {
        struct arena *a = arena_new();
        check_graph(one_op(a, cases[i].inputs, cases[i].call), 1e-12, 0);
        arena_free(a);
    }
    for (int i = 0; i < N_INDEXED; i++) {
        struct arena *a = arena_new();
        check_graph(one_op(a, indexed[i].inputs, indexed[i].call), 1e-12, indexed[i].indices);
        arena_free(a);
    }
}

/* The same with bf16 inputs: the result differs by its last cast at most. */
static void test_opmath(void **state) {
    static const struct {
        const char *inputs, *call;
    } low[] = {
        {"%x: bf16[4, 8]", "softmax(%x, -1)"},
        {"%x: f16[4, 8]", "log_softmax(%x, -1)"},
        {"%x: bf16[4, 8], %y: bf16[8], %z: bf16[8]", "layer_norm(%x, [8], %y, %z)"},
        {"%x: bf16[4, 8], %y: f32[8]", "rms_norm(%x, [8], %y)"},
        {"%x: bf16[4, 8]", "gelu(%x)"},
        {"%x: f16[4, 8]", "mean(%x, 1)"},
        {"%x: bf16[4, 8], %y: bf16[8]", "addcmul(%x, %y, %y)"},
    };
    for (size_t i = 0; i < sizeof low / sizeof *low; i++) {
        struct arena *a = arena_new();
        struct graph *g = one_op(a, low[i].inputs, low[i].call), *h = graph_decompose(g);
        /* No arithmetic in a type narrower than f32, but for the cast at the end. */
        for (uint32_t k = 0; k < h->nodes.n; k++)
            if (h->nodes.at[k].op != OP_INPUT && h->nodes.at[k].op != OP_CONVERT)
                assert_int_equal(h->nodes.at[k].meta.dtype, DT_F32);
        check_graph(g, 0x1p-8, 0);
        arena_free(a);
    }
}

static void test_every_composite_is_covered(void **state) {
    bool seen[OP_COUNT] = {0};
    for (int i = 0; i < N_CASES + N_INDEXED; i++) {
        struct arena *a = arena_new();
        bool plain = i < N_CASES;
        struct graph *g = one_op(a, plain ? cases[i].inputs : indexed[i - N_CASES].inputs,
                                 plain ? cases[i].call : indexed[i - N_CASES].call);
        seen[g->nodes.at[g->outputs.at[0]].op] = true;
        arena_free(a);
    }
    for (int i = 0; i < OP_COUNT; i++)
        if (op_info((enum op)i)->class == COMPOSITE && !seen[i])
            fail_msg("no test for %s", op_info((enum op)i)->name);
}

/* Extreme values go through the same branches. */
static void test_special_values(void **state) {
    static const char *const calls[] = {"softmax(%x, 0)",
                                        "logsumexp(%x, 0)",
                                        "clamp(%x, -1, 1)",
                                        "relu6(%x)",
                                        "hardswish(%x)",
                                        "norm(%x, inf)",
                                        "logsigmoid(%x)",
                                        "max(%x)",
                                        "hardsigmoid(%x)",
                                        "leaky_relu(%x)",
                                        "elu(%x)",
                                        "softplus(%x)",
                                        "clamp_min(%x, 0)",
                                        "celu(%x)",
                                        "hardshrink(%x)",
                                        "softshrink(%x)",
                                        "threshold(%x, 1, 2)",
                                        "nan_to_num(%x)",
                                        "nan_to_num(%x, 1, 2, 3)",
                                        "fmax(%x, %x)",
                                        "logaddexp(%x, %x)",
                                        "xlogy(%x, %x)",
                                        "xlogy(0, %x)"};
    double specials[][3] = {{NAN, 1, 2},       {INFINITY, 1, 2},  {-INFINITY, -INFINITY, -INFINITY},
                            {-INFINITY, 0, 1}, {1000, -1000, 30}, {-0.0, 0.0, 1}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (size_t k = 0; k < sizeof specials / sizeof *specials; k++) {
            struct arena *a = arena_new();
            struct graph *g = one_op(a, "%x: f32[3]", calls[i]), *h = graph_decompose(g);
            struct value in = {.v = specials[k], .n = 3}, before, after;
            must_eval(g, &in, &before);
            must_eval(h, &in, &after);
            for (int64_t e = 0; e < before.n; e++)
                if (!close_to(value_number(&before, e), value_number(&after, e), 1e-12))
                    fail_msg("%s of special %zu: %g before, %g after", calls[i], k,
                             value_number(&before, e), value_number(&after, e));
            value_free(&before);
            value_free(&after);
            arena_free(a);
        }
}

/* A whole network: composites in composites, several outputs, an origin for every node. */
static void test_network(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[2, 4, 8], %w: f32[16, 8], %b: f32[16]) {\n"
                                    "  %h = linear(%x, %w, %b)\n"
                                    "  %g = gelu(%h)\n"
                                    "  %n = layer_norm(%g, [16])\n"
                                    "  %s = softmax(%n, -1)\n"
                                    "  %m = mean(%s, -1)\n"
                                    "  return %s, %m, %s\n"
                                    "}\n");
    check_graph(g, 1e-12, 0);
    struct graph *h = graph_decompose(g);
    node_id last = 0;
    for (uint32_t i = 0; i < h->nodes.n; i++) {
        assert_true(h->nodes.at[i].origin < g->nodes.n && h->nodes.at[i].origin >= last);
        last = h->nodes.at[i].origin;
    }
    arena_free(a);
}

/* What lands at indices may stay one node, where it is made by a decomposition, too; everything
 * else goes. */
static void test_landings_stay(void **state) {
    struct arena *a = arena_new();
    struct graph *g =
        must_parse(a, "graph(%x: f32[5, 8], %i: i64[7], %s: f32[7, 8], %j: i64[2, 8]) {\n"
                      "  %a = index_add(%x, 0, %i, %s)\n"
                      "  %g = gelu(%a)\n"
                      "  %b = scatter_add(%g, 0, %j, %s)\n"
                      "  %c = scatter(%b, 0, %j, 1.5)\n"
                      "  %n = softmax(%c, -1)\n"
                      "  return %n\n"
                      "}\n");
    struct graph *h = graph_simplify(graph_decompose_but_landings(graph_simplify(g)));
    int landings = 0;
    for (uint32_t i = 0; i < h->nodes.n; i++)
        if (op_info(h->nodes.at[i].op)->class == COMPOSITE) {
            enum op op = h->nodes.at[i].op;
            assert_true(op == OP_INDEX_ADD || op == OP_SCATTER_ADD || op == OP_SCATTER);
            landings++;
        }
    assert_int_equal(landings, 3);
    must_verify(h, false);
    must_verify(graph_simplify(graph_decompose(h)), true);
    arena_free(a);
}

/* An index that the graph says tells each place its sources: no pair is compared. */
static void test_known_landings(void **state) {
    static const struct {
        const char *index; /* %i, of 12 sources for 6 places, of %a = arange(12) */
        bool pairs;
    } known[] = {
        {"%i = floor_divide(%a, 2)", false},
        {"%b = mul(%a, 5)\n %i = floor_divide(%b, 11)", false}, /* 3, 2, 2, 2, 2, 1 */
        {"%b = add(%a, -3)\n %c = floor_divide(%b, 2)\n %i = clamp(%c, 0, 5)", false},
        {"%b = add(%a, -4)\n %i = clamp(%b, 0, 5)", false},
        {"%b = floor_divide(%a, 2)\n %l = lt(%b, 0)\n %p = add(%b, 6)\n %i = where(%l, %p, %b)",
         false},
        {"%i = floor_divide(%a, 4)", false},               /* none in the last places */
        {"%b = add(%a, -9)\n %i = clamp(%b, 0, 5)", true}, /* 10 in the first one */
        {"%b = mul(%a, %a)\n %c = floor_divide(%b, 24)\n %i = clamp(%c, 0, 5)", true},
        {"%b = mul(%a, -1)\n %c = add(%b, 11)\n %i = floor_divide(%c, 2)", true}, /* falls */
        {"%i = remainder(%a, 6)", true},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        struct arena *a = arena_new();
        struct graph *g = must_parse(
            a, arena_printf(a,
                            "graph(%%s: f32[3, 12, 4], %%t: bf16[2, 12], %%x: f32[3, 6, 4]) {\n"
                            " %%a = arange(0, 12)\n %s\n %%y = index_add(%%x, 1, %%i, %%s)\n"
                            " %%u = permute(%%t, [1, 0])\n %%o = zeros([6, 2], dtype=bf16)\n"
                            " %%z = index_add(%%o, 0, %%i, %%u, alpha=2)\n return %%y, %%z\n}\n",
                            known[k].index));
        check_graph(g, 1e-12, 0);
        const struct graph *h = graph_decompose(g);
        bool pairs = false;
        for (uint32_t i = 0; i < h->nodes.n; i++)
            pairs |= ex_value(h->ex, meta_numel(h->ex, &h->nodes.at[i].meta)) > 3 * 12 * 4;
        if (pairs != known[k].pairs) fail_msg("%s", printed(h));
        arena_free(a);
    }
}

/* Sizes may be symbols: the result parses, verifies and has no composite. */
static void test_symbolic(void **state) {
    static const struct {
        const char *inputs, *call, *type;
    } symbolic[] = {
        {"%x: f32[s0, s1]", "softmax(%x, -1)", "f32[s0, s1]"},
        {"%x: f32[s0, s1]", "var(%x, 1)", "f32[s0]"},
        {"%x: f32[s0, s1]", "mean(%x)", "f32[]"},
        {"%x: bf16[s0, 64], %w: bf16[32, 64]", "linear(%x, %w)", "bf16[s0, 32]"},
        {"%x: f32[s0, 4, s1]", "view(%x, [s0, -1])", "f32[s0, s1*4]"},
        {"%x: f32[s0, 12]", "unflatten(%x, 1, [3, -1])", "f32[s0, 3, 4]"},
        {"%x: f32[s0, s1], %y: f32[s1, s2]", "matmul(%x, %y)", "f32[s0, s2]"},
        {"%x: f32[s0, 8]", "tril(%x)", "f32[s0, 8]"},
        {"%x: f32[s0, 8]", "select(%x, 0, -1)", "f32[8]"},
        {"%x: f32[s0, 64]", "layer_norm(%x, [64])", "f32[s0, 64]"},
    };
    for (size_t i = 0; i < sizeof symbolic / sizeof *symbolic; i++) {
        struct arena *a = arena_new();
        struct graph *g = one_op(a, symbolic[i].inputs, symbolic[i].call);
        assert_string_equal(result_type(g), symbolic[i].type);
        must_verify(graph_decompose(g), true);
        must_verify(graph_simplify(graph_decompose(g)), true);
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means_the_same), cmocka_unit_test(test_opmath),
        cmocka_unit_test(test_landings_stay),  cmocka_unit_test(test_every_composite_is_covered),
        cmocka_unit_test(test_special_values), cmocka_unit_test(test_network),
        cmocka_unit_test(test_symbolic),       cmocka_unit_test(test_known_landings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
