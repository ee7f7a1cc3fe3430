import torch
import torch.nn.functional as F


def err_base(x):
    class A(torch.Tensor):
        pass
    assert issubclass(A, torch.Tensor) and not isinstance(x, A)
    return A(x)


def get_inputs():
    return [torch.randn(4, 8)]
