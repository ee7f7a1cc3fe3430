"""A graph as torch.compile captures it: one function of inputs and parameters, bindings by their own names, a mask by vmap."""
import torch
from torch import device


class GraphModule(torch.nn.Module):
    def forward(self, L_x_: torch.Tensor, s1: torch.SymInt, L_weight_: torch.nn.parameter.Parameter,
                L_bias_: torch.nn.parameter.Parameter, L_scale_: torch.nn.parameter.Parameter,
                l_self_norm_eps: torch.Tensor):
        item = l_self_norm_eps.item()
        qkv = torch._C._nn.linear(L_x_, L_weight_, L_bias_)
        L_x_ = L_weight_ = L_bias_ = None
        view = qkv.view(2, s1, 3, 4, 8)
        qkv = None
        permute = view.permute(2, 0, 3, 1, 4)
        view = None
        q = permute[0]
        k = permute[1]
        v = permute[2]
        permute = None
        position = torch.arange(end=s1, device=device(type='cpu'))
        lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions()
        lazy_load_decompositions = None
        nesting = torch._functorch.predispatch._vmap_increment_nesting(s1, 'error')
        nesting = None
        rows = torch._functorch.predispatch._add_batch_dim(position, 0, 1)
        nesting_1 = torch._functorch.predispatch._vmap_increment_nesting(s1, 'error')
        nesting_1 = None
        columns = torch._functorch.predispatch._add_batch_dim(position, 0, 2)
        le = columns <= rows
        result = rows.new_ones((), dtype=torch.bool).__and__(le)
        inner = torch._functorch.predispatch._remove_batch_dim(result, 2, s1, 0)
        torch._functorch.predispatch._vmap_decrement_nesting()
        mask = torch._functorch.predispatch._remove_batch_dim(inner, 1, s1, 0)
        torch._functorch.predispatch._vmap_decrement_nesting()
        attn = torch._C._nn.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.0, scale=0.35)
        flat = attn.transpose(1, 2).reshape(2, s1, 32)
        norm = torch.nn.functional.layer_norm(flat, (32,), L_scale_, None, item)
        gelu = torch._C._nn.gelu(norm, approximate='none')
        return (gelu,)


Model = GraphModule


def get_inputs():
    return [torch.randn(2, 9, 32), 9, torch.randn(96, 32) * 0.2, torch.randn(96), torch.rand(32) + 0.5, torch.tensor(1e-06, dtype=torch.float64).reshape([])]


def get_init_inputs():
    return []
