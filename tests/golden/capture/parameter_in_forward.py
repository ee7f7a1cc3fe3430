import torch
import torch.nn as nn


def parameter_in_forward(x):
    return nn.Linear(8, 8)(x)


def get_inputs():
    return [torch.randn(4, 8)]
