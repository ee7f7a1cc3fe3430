"""A function of two tensors and a number: what a guard check costs for each call."""
import torch


def scaled(x, y, factor):
    return (x + y).relu() * factor


compiled = torch.compile(scaled, backend='eager')
x, y = torch.randn(4, 8), torch.randn(4, 8)
want = scaled(x, y, 0.5)
for _ in range(200):
    assert torch.equal(compiled(x, y, 0.5), want)
