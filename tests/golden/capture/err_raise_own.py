import torch
import torch.nn.functional as F


def err_raise_own(x):
    class Odd(Exception):
        def __str__(self):
            return "odd: " + str(self.args[0])
    raise Odd(3)


def get_inputs():
    return [torch.randn(4, 8)]
