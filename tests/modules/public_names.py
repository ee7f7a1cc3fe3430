"""What public models use of PyTorch's modules and of the standard library: names of an embedding's settings, the blocks of
an encoder's layer, precision that is asked for as it is, a tensor of a range, os.pardir; and what asks whether it is traced,
or for operators that are not installed."""
import os

import torch
from torch import nn
import torch.nn.functional as F

rows = 4
assert os.path.join('a', os.pardir, 'b') == 'a/../b' and os.curdir == '.' and os.pathsep == ':'


assert not torch._C._is_tracing() and not hasattr(torch.ops.some_package, 'nms') and torch.ops.aten.relu(torch.ones(1)) == 1


class Layer(nn.TransformerEncoderLayer):
    def forward(self, x, memory):
        x = self.norm1(x + self._sa_block(x, None, None))
        return self.norm2(x + self._ff_block(x) + memory)


class Cross(nn.TransformerDecoderLayer):
    def _ff_block(self, x):
        return super()._ff_block(x) * 2

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return super()._mha_block(x, mem * 2, attn_mask, key_padding_mask, is_causal)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8, padding_idx=1)
        self.layer, self.cross = Layer(8, 2, 16, 0.0), Cross(8, 2, 16, 0.0)

    def forward(self, tokens, memory):
        e, before = self.embed, torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = False
        x = F.embedding(tokens, e.weight, e.padding_idx, e.max_norm, e.norm_type, e.scale_grad_by_freq, e.sparse)
        x = self.cross(self.layer(x, memory), memory)
        torch.backends.cuda.matmul.allow_tf32 = before
        return x + x.new_tensor(range(8))


def get_inputs():
    return [torch.randint(0, 10, (rows, 3)), torch.randn(rows, 3, 8)]
