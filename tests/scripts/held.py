"""Tensors that only a function in C holds, while what it calls makes so many that others are freed."""
import torch


def make(i):
    return torch.full((1 << 23,), float(i))


class Box:
    def __init__(self, i):
        self.x = make(i)
        make(8)


def many(x):
    for i in range(9):
        make(i)
    return int(x[5])


def inverse(i):
    return 1 // (make(i)[0] - 3).item()


print('in a list', [int(t[5]) for t in list(map(make, range(10)))])
print('in an instance', [int(b.x[5]) for b in map(Box, range(2))])
x = make(3)
print('in what is sorted', [int(t[5]) for t in sorted(map(torch.neg, [x, x]), key=many)])
try:
    list(map(inverse, range(4)))
except ZeroDivisionError:
    print('after an exception', [int(t[5]) for t in list(map(make, range(10)))])
