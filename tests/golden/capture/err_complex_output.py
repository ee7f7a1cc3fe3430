import torch


def err_complex_output(x):
    return torch.fft.rfft(x)


def get_inputs():
    return [torch.randn(8)]
