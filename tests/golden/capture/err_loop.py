import torch
import torch.nn.functional as F


def err_loop(x):
    while True:
        pass


def get_inputs():
    return [torch.randn(4, 8)]
