import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Queries from one sequence, keys and values from another, with a padding mask."""
    def __init__(self, dim):
        super().__init__()
        self.q, self.kv = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim)
        self.scale = dim ** -0.5

    def forward(self, x, memory, lengths):
        q = self.q(x)
        k, v = self.kv(memory).chunk(2, dim=-1)
        scores = torch.einsum('bqd,bkd->bqk', q, k) * self.scale
        valid = torch.arange(memory.shape[1])[None, None, :] < lengths[:, None, None]
        scores = torch.where(valid, scores, torch.full_like(scores, -1e9))
        return torch.einsum('bqk,bkd->bqd', F.softmax(scores, -1), v)


def get_inputs():
    return [torch.randn(3, 5, 12), torch.randn(3, 9, 12), torch.arange(3) * 3 + 2]


def get_init_inputs():
    return [12]
