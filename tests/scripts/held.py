"""Tensors that only a function in C holds, while what it calls makes so many that others are freed."""
import torch


def make(i):
    return torch.full((1 << 22,), float(i), dtype=torch.float64)


def many(x):
    for i in range(9):
        make(i)
    return int(x[5])


print('in a list', [int(t[5]) for t in list(map(make, range(10)))])
x = make(3)
print('in what is sorted', [int(t[5]) for t in sorted(map(torch.neg, [x, x]), key=many)])
