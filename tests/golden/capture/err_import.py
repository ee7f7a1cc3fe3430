import scipy


def err_import(x):
    return scipy.special.erf(x)


def get_inputs():
    import torch
    return [torch.randn(4)]
