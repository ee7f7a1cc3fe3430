import torch
def integers(x, i, f):
    return (x + 1, x * x, x // 3, x % -7, torch.abs(x), -x, x.sum(), x.cumsum(0), x.prod(), x.max(), x.min(), x.argmax(), x == 9007199254740993,
      torch.where(x > 0, x, 9223372036854775807), i * i, i + 9223372036854775807, x >> 3, x << 62, x ^ 9223372036854775807, f.to(torch.int64), f.to(torch.int32), f.to(torch.uint8), x.float(), i.pow(5), x.clamp(min=9007199254740993), torch.full((3,), 9007199254740993), torch.arange(9007199254740993, 9007199254740999), x.sort()[0], torch.gather(x, 0, torch.tensor([0,1,2])), torch.bitwise_not(x), x.double(), torch.nn.functional.one_hot(torch.tensor([1, 2]), 4), torch.arange(0, 1, 0.1))
def get_inputs():
    return [torch.tensor([9223372036854775807, -9223372036854775808, 9007199254740993, -9007199254740993, 5]), torch.tensor([2147483647, -2147483648, 65536, 3], dtype=torch.int32), torch.tensor([float('nan'), float('inf'), -float('inf'), 3e9, -5.7, 300.])]
