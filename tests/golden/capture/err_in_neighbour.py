import torch

from neighbours.parts.gates import Gate

Model = Gate


def get_init_inputs():
    return [4]


def get_inputs():
    return [torch.randn(8, 5)]
