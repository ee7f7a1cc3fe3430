import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    """Layer normalisation from means, in f32 whatever the input."""
    def __init__(self, dim):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.float()
        mean = h.mean(dim=-1, keepdim=True)
        variance = ((h - mean) ** 2).mean(dim=-1, keepdim=True)
        return ((h - mean) / torch.sqrt(variance + 1e-5)).to(x.dtype) * self.gamma + self.beta


def get_inputs():
    return [torch.randn(rows, 37)]


def get_init_inputs():
    return [37]
