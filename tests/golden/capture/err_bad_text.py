import torch
import torch.nn.functional as F


def err_bad_text(x):
    class Odd(Exception):
        def __str__(self):
            return 1 / 0
    raise Odd(3)


def get_inputs():
    return [torch.randn(4, 8)]
