import torch
import torch.nn.functional as F


def err_list_grows(x):
    a = [1]
    while True:
        a.extend(a)


def get_inputs():
    return [torch.randn(4, 8)]
