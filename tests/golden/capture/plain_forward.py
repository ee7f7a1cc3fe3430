import torch

rows = 4


# A function of this name needs no file that is named like it.
def forward(x, scale=2.0):
    return torch.relu(x) * scale


def get_inputs():
    return [torch.randn(rows, 8)]
