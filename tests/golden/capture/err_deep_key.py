import torch
import torch.nn.functional as F


def err_deep_key(x):
    t = ()
    for _ in range(1000):
        t = (t,)
    return {t: x}[t]


def get_inputs():
    return [torch.randn(4, 8)]
