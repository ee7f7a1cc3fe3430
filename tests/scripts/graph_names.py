"""Operators by the names that graphs of torch.compile call them: torch._C._nn, torch.functional, torch.ops.aten, and what vmap leaves."""
import operator

import torch


def fill(*shape):
    n = 1
    for size in shape:
        n *= size
    return (torch.arange(n) * 37 % 19 - 9).reshape(shape) / 10


def show(name, *tensors):
    for x in tensors:
        flat = x.detach().double().flatten()
        weight = torch.arange(flat.numel()) % 7 + 1
        print(name, list(x.shape), str(x.dtype)[6:], [f'{v + 0.0:.3f}' for v in flat[1:4].tolist()], f'{(flat * weight).sum().item() + 1e-9:.2f}')


nn, aten = torch._C._nn, torch.ops.aten
torch._C._log_api_usage_once('x')
x, w, b, image = fill(4, 6), fill(3, 6), fill(3), fill(2, 3, 6, 5)
show('linear', nn.linear(x, w, b), nn.gelu(x, approximate='tanh'), nn.softplus(x, 2.0, 20.0), nn.pad(x, (1, 2), 'constant', 0.5))
show('pools', nn.avg_pool2d(image, (2, 2), (2, 2), (0, 0), False, True, None), nn.adaptive_avg_pool2d(image, (2, 3)),
     *nn.max_pool2d_with_indices(image, [3, 3], [2, 2], [1, 1]))
show('upsampled', nn.upsample_nearest2d(image, (9, 7), None), nn.upsample_bilinear2d(image, None, False, [2.0, 2.0]),
     nn.upsample_bicubic2d(image, (4, 9), True, None), nn._upsample_bilinear2d_aa(image, (3, 2), False, None))
show('padded', nn.reflection_pad2d(image, [1, 2, 2, 1]), nn.replication_pad1d(image[0], [2, 0]))
q, k, v = fill(2, 4, 3, 8), fill(2, 4, 5, 8), fill(2, 4, 5, 8).flip(-1)
show('attention', nn.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False),
     aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0.0, False)[0])
show('losses', nn.cross_entropy_loss(x, torch.tensor([0, 5, 2, 2]), None, 1, -100, 0.1), nn.nll_loss_nd(x, torch.tensor([0, 5, 2, 2]), None, 0, -100),
     nn.mse_loss(x, x.flip(0), 2), nn.smooth_l1_loss(x, x.flip(0), 1, 0.5), nn.huber_loss(x, x.flip(0), 1, 0.5))
show('functional', torch.functional.einsum('ij,kj->ik', x, w), *torch.functional.split(x, 4, 1), *torch.functional.meshgrid(b, b, indexing='ij'))
show('weight', torch._weight_norm(w, fill(3, 1), 0))
show('methods', x.__add__(1), x.__rsub__(1), (x > 0).__and__(x < 0.5), x.__eq__(0.5), x.__getitem__(1), torch.arange(end=3))
print(torch.sym_sum([1, 2, 3]), [None] * torch.tensor(2))

kept = torch._functorch.predispatch
kept.lazy_load_decompositions()
levels = [kept._vmap_increment_nesting(n, 'error') for n in (2, 4)]
rows, columns = [kept._add_batch_dim(torch.arange(n), 0, level) for n, level in zip((2, 4), levels)]
inner = (rows >= columns).__or__(columns == 3)
outer = kept._remove_batch_dim(inner, levels[1], 4, 0)
kept._vmap_decrement_nesting()
show('vmap', kept._remove_batch_dim(outer, levels[0], 2, 0))
kept._vmap_decrement_nesting()

mm = aten.mm.default(x, aten.permute.default(w, [1, 0]))
norm = aten.native_layer_norm.default(mm, [3], b, None, 1e-05)
show('norm', *norm, operator.getitem(norm, 0))
show('batch norm', aten._native_batch_norm_legit_no_training.default(image, b, b, b, b.abs() + 1, 0.1, 1e-05)[0],
     *aten._native_batch_norm_legit_functional.default(image, b, b, b, b.abs() + 1, True, 0.1, 1e-05))
show('copies', aten._to_copy.default(x, dtype=torch.float64), aten.clone.default(x), torch.ops.prims.convert_element_type.default(x, torch.float16),
     aten.slice.Tensor(x, 1, 1, 9223372036854775807, 2), aten.select.int(x, 0, -1), aten.view.default(x, [2, 12]), aten._unsafe_view.default(x, [24]),
     aten.expand.default(b, [2, 3]), aten.repeat.default(b, [2, 2]), aten.cat.default([x, x], 1), *aten.split_with_sizes.default(x, [2, 4], 1),
     aten.constant_pad_nd.default(x, [1, 0], 2.0), aten.full.default([2, 3], 0.5), aten.scalar_tensor.default(2, dtype=torch.float32),
     aten.arange.start_step(0, 7, 2), aten.where.self(x > 0, x, aten.full.default([], 0.25)), aten.index.Tensor(x, [None, torch.tensor([5, 0])]),
     aten.index_put.default(x, [torch.tensor([0, 2])], fill(6), True), aten.embedding.default(w, torch.tensor([[0, 2], [1, 1]])))
show('sums', aten.sum.dim_IntList(x, [0], True), aten.mean.dim(x, [-1], True), aten.amax.default(x, [1]), *aten.var_mean.correction(x, [1], correction=0, keepdim=True),
     aten.pow.Tensor_Scalar(x, 2), aten.rsub.Scalar(x, 1.0), aten.add.Tensor(x, 1, alpha=2), aten.addmm.default(b, x, aten.t.default(w)), aten.bmm.default(q[0], k[0].mT))
show('softmax', aten._softmax.default(x, 1, False), aten._log_softmax.default(x.half(), 1, False), aten._safe_softmax.default(torch.full((2, 2), -torch.inf), 1))
show('convolution', aten.convolution.default(image, fill(4, 3, 3, 3), fill(4), [2, 1], [1, 1], [1, 1], False, [0, 0], 1),
     aten.convolution.default(image, fill(3, 2, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 0], 1))

g, s = fill(4, 6).flip(0), aten._softmax.default(x, 1, False)
show('backward', aten.threshold_backward.default(g, x, 0), aten.gelu_backward.default(g, x), aten.gelu_backward.default(g, x, approximate='tanh'),
     aten.silu_backward.default(g, x), aten.sigmoid_backward.default(g, x), aten.tanh_backward.default(g, x), aten.hardtanh_backward.default(g, x, -0.5, 0.5),
     aten.leaky_relu_backward.default(g, x, 0.1, False), aten._softmax_backward_data.default(g, s, 1, torch.float32),
     aten._log_softmax_backward_data.default(g, torch.log(s), 1, torch.float32),
     aten.embedding_dense_backward.default(fill(2, 2, 6), torch.tensor([[0, 2], [2, 1]]), 3, -1, False), aten.select_backward.default(b, [2, 3], 0, 1),
     aten.slice_backward.default(fill(2, 3), [2, 9], 1, 1, 7, 2))
out, mean, rstd = aten.native_layer_norm.default(x, [6], g[0], g[1], 1e-05)
show('norm backward', *aten.native_layer_norm_backward.default(g, x, [6], mean, rstd, g[0], g[1], [True, True, True]))
show('convolution backward', *aten.convolution_backward.default(fill(2, 4, 3, 5), image, fill(4, 3, 3, 3), [4], [2, 1], [1, 1], [1, 1], False, [0, 0], 1,
                                                                [True, True, True]))
show('bindings', torch._C._linalg.linalg_vector_norm(x, 2, [1]), torch._C._special.special_entr(x.abs()))
torch._C._set_grad_enabled(False)
mode = torch.amp.autocast_mode._enter_autocast('cpu', torch.bfloat16, True, None)
cast = x @ w.t()
torch.amp.autocast_mode._exit_autocast(mode)
show('autocast', cast, x @ w.t())
several, weights = fill(2, 5, 8), (fill(24, 8), fill(24), fill(8, 8), fill(8))
show('heads', torch._native_multi_head_attention(several, several, several, 8, 2, *weights, None, False, True, None)[0],
     *torch._native_multi_head_attention(several, several, several, 8, 2, *weights, fill(2, 5) > 0.5, True, True, 1),
     *torch._native_multi_head_attention(several, several.flip(1), several, 8, 2, *weights, torch.ones(5, 5).triu(1).bool(), True, False, 0))
