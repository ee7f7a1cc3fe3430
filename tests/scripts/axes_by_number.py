"""Patterns of einops in which numbers stand: axes of that size, each its own, beside dimensions without names."""
import torch
from einops import rearrange, reduce, repeat

x = torch.arange(96.).reshape(2, 4, 4, 3)
print(repeat(x[0, :, :, 0], 'o ... -> (o 2) ...').shape, repeat(x, 'o ... -> (o 2) ...').sum((1, 2, 3)), repeat(x, '... c -> ... (2 c 2)')[0, 0, 0])
print(reduce(x, 'b (h 2) (w 2) c -> b h w c', 'max')[0, :, :, 0], reduce(x, 'b h (w 4) c -> b h w c', 'sum').shape)
print(repeat(x, 'b h w c -> 3 b h w c').shape, repeat(x[0, 0], 'w c -> w c 2')[0], reduce(x[:, 0] / 50, 'b w c -> c b', 'prod'))
print(reduce(x > 5, 'b h w c -> b c', 'all'), reduce(x > 90, 'b h w c -> h', 'any'))
from einops.layers.torch import Reduce
print(Reduce('b ... -> (b s) ...', reduction='repeat', s=2)(x[:, 0, 0]).shape, reduce(x[0, 0], 'w c -> c w', 'rearrange').shape)
