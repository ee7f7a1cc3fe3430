import torch
import torch.nn.functional as F


def err_string_grows(x):
    s = "ab"
    while True:
        s += s


def get_inputs():
    return [torch.randn(4, 8)]
