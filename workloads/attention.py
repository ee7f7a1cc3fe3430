"""Attention, causal or not: q, k, v (batch, heads, length, size) -> (batch, heads, length, size). 4*batch*heads*length**2*size
flops, half of it if causal; moves 4*batch*heads*length*size elements."""
import torch
import torch.nn.functional as F

batch = 1
heads = 4
length = 512
size = 64
causal = 0


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal == 1)


def get_inputs():
    return [torch.randn(batch, heads, length, size) for _ in range(3)]
