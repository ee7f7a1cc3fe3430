"""Integers of 32 and 64 bits keep their low bits: packed nibbles, hashes, sums."""
import torch

n = 64


def wrapping(x, idx):
    i = idx.int()
    packed = (i & 0xF) << 28 | (i >> 4 & 0xF) << 4
    hashed = i * 2000000000 + 2147483647
    shifted = idx << 62
    low = (idx * 4294967296 + 5).int()
    sums = i.cumsum(0, dtype=torch.int32) * 100000000
    narrow = (i * 1000).to(torch.int8)
    return packed, hashed, shifted, low, sums, narrow, (x * 1000).int()


def get_inputs():
    return [torch.randn(n), torch.randint(0, 1000, (n,))]
