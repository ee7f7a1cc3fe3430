"""Products of a batch of matrices: x (batch, rows, inner), y (batch, inner, columns) -> (batch, rows, columns).
2*batch*rows*inner*columns flops; moves batch*(rows*inner + inner*columns + rows*columns) elements."""
import torch

batch = 16
rows = 512
inner = 512
columns = 512


def bmm(x, y):
    return torch.bmm(x, y)


def get_inputs():
    return [torch.randn(batch, rows, inner), torch.randn(batch, inner, columns)]
