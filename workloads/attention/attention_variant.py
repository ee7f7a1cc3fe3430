"""Attention as people change it: q (batch, heads, queries, size), k and v (batch, kv_heads, keys, size) -> as q. A query sees
keys up to its own position (causal), of these the last so many (window), those of its document (documents: the length of one),
those of a mask (masked: of so many of eight). Its scores fall with the distance (alibi), or stay below a soft cap (cap)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
heads = 32
kv_heads = 32
queries = 4096
keys = 4096
size = 128
causal = 0
window = 0
documents = 0
masked = 0
alibi = 0
cap = 0


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        if alibi:
            self.register_buffer("slopes", 2.0 ** (-8.0 / heads * torch.arange(1, heads + 1)))
        if documents:
            self.register_buffer("document", torch.arange(keys) // documents)
        if masked:
            self.register_buffer("mask", torch.randint(0, 8, (queries, keys)) < masked)

    def seen(self, i, j):
        """Which keys each query sees; None: all."""
        if masked:
            return self.mask
        if documents:
            same = self.document[keys - queries :, None] == self.document[None, :]
            return same & (j <= i) if causal else same
        if window:
            return (j <= i) & (i - j < window)
        return j <= i if causal else None

    def forward(self, q, k, v):
        if causal and queries == keys and not (window or documents or masked or alibi or cap):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=kv_heads != heads)
        i = torch.arange(queries, device=q.device)[:, None] + (keys - queries)
        j = torch.arange(keys, device=q.device)[None, :]
        seen = self.seen(i, j)
        if cap:
            if kv_heads != heads:
                k = k.repeat_interleave(heads // kv_heads, dim=1)
                v = v.repeat_interleave(heads // kv_heads, dim=1)
            scores = (q @ k.transpose(-2, -1)) * size**-0.5
            scores = cap * torch.tanh(scores / cap)
            if alibi:
                scores = scores + self.slopes[:, None, None] * (j - i)
            if seen is not None:
                scores = scores.masked_fill(~seen, float("-inf"))
            return F.softmax(scores, dim=-1) @ v
        mask = seen
        if alibi:
            mask = (self.slopes[:, None, None] * (j - i)).to(q.dtype)
            if seen is not None:
                mask = mask.masked_fill(~seen, float("-inf"))
            mask = mask[None]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=kv_heads != heads)


def get_inputs():
    q = torch.randn(batch, heads, queries, size)
    return [q, torch.randn(batch, kv_heads, keys, size), torch.randn(batch, kv_heads, keys, size)]


def get_init_inputs():
    return []
