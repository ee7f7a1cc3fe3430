import torch
import torch.nn as nn


class Model(nn.Module):
    """Word vectors averaged without the padding, then classified."""
    def __init__(self, words, dim, classes):
        super().__init__()
        self.table = nn.Embedding(words, dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        keep = (tokens != 0).unsqueeze(-1).float()
        vectors = self.table(tokens) * keep
        return self.head(vectors.sum(1) / keep.sum(1).clamp(min=1.0)).log_softmax(-1)


def get_inputs():
    return [torch.arange(40).reshape(5, 8) % 11]


def get_init_inputs():
    return [11, 12, 4]
