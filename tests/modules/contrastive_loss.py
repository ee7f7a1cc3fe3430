import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """CLIP's loss: cosine similarities of two batches, cross entropy both ways."""
    def __init__(self, temperature):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(math.log(1 / temperature)))

    def forward(self, a, b):
        a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
        logits = self.scale.exp() * a @ b.t()
        labels = torch.arange(a.shape[0])
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


def get_inputs():
    return [torch.randn(8, 12), torch.randn(8, 12)]


def get_init_inputs():
    return [0.1]
