"""Integers are integers: constants, inputs, arithmetic that wraps, and what becomes of floats; doubles hold none of these."""
import torch


def integers(x, i, f):
    return (x + 1, x * x, x // 3, x % -7, x.fmod(7), torch.abs(x), -x, ~x, x.sum(), x.cumsum(0), x.prod(), x.max(), x.min(),
            x.amax(0), x.argmax(), x.argmin(), x.sort()[0], x == 9007199254740993, x < 9007199254740993, x.sign(),
            torch.where(x > 0, x, 9223372036854775807), x.clamp(min=9007199254740993), torch.maximum(x, x.flip(0)),
            x >> 3, x << 62, x << 64, x >> 64, x >> -1, x & 4611686018427387905, x | 1, x ^ 9223372036854775807, x.pow(3),
            x[torch.tensor([2, 0])], torch.gather(x, 0, torch.tensor([3, 2, 0])), torch.cat([x, x[:1]]),
            torch.stack([x, x]).view(5, 2).t(), x.masked_fill(x < 0, 9007199254740995), x.float(), x.double(), x / 2,
            i * i, i + 2147483647, -i, abs(i), i.pow(5), i // -1, i.long() * i, i.sum(), i.sum(dtype=torch.int32), i.char(), i.byte(),
            (i.byte() + 200), i.short() * i.short(), f.long(), f.int(), f.short(), f.char(), f.byte(), f.bool(),
            torch.full((3,), 9007199254740993), torch.arange(9007199254740993, 9007199254740999),
            torch.full((2,), -9223372036854775808), torch.eye(2, dtype=torch.int64) * 9007199254740993,
            x.view(1, 5) @ x.view(5, 1), torch.nn.functional.one_hot(torch.tensor([1, 2]), 4), torch.arange(0, 1, 0.1),
            x.unique(), torch.searchsorted(x.sort()[0], x))


inputs = (torch.tensor([9223372036854775807, -9223372036854775808, 9007199254740993, -9007199254740993, 5]),
          torch.tensor([2147483647, -2147483648, 65536, 3], dtype=torch.int32),
          torch.tensor([float('nan'), float('inf'), -float('inf'), 3e9, -5.7, 300., 9.3e18]))
eager = integers(*inputs)
compiled = torch.compile(integers)(*inputs)
for k, (a, b) in enumerate(zip(eager, compiled)):
    print(k, a.dtype, a.tolist())
    if str(a.tolist()) != str(b.tolist()) or a.dtype != b.dtype:
        print('compiled:', b.dtype, b.tolist())
a = torch.tensor([2147483647], dtype=torch.int32)
print(a * a, torch.tensor(9223372036854775807), torch.tensor([9007199254740993]), torch.tensor([9007199254740993]).tolist())
# Images of bytes: weights of 16 bits, and bytes between the two dimensions; losses of integers wrap around.
x = (torch.arange(2 * 2 * 7 * 6) * 97 % 256).to(torch.uint8).reshape(2, 2, 7, 6)
for mode in ('bilinear', 'bicubic'):
    for corners, filtered in ((False, False), (True, False), (False, True), (True, True)):
        for how in ({'size': (3, 9)}, {'size': (7, 5)}, {'scale_factor': 1.7}, {'scale_factor': 0.6, 'recompute_scale_factor': True}):
            y = torch.nn.functional.interpolate(x, mode=mode, align_corners=corners, antialias=filtered, **how).long()
            print(tuple(y.shape), int((y * (torch.arange(y.numel()).reshape(y.shape) % 97 + 1)).sum()))
a, b, sign = torch.tensor([1, 200, 7], dtype=torch.uint8), torch.tensor([3, 100, 9], dtype=torch.uint8), torch.tensor([1, 1, 5], dtype=torch.uint8)
for run in (torch.nn.functional.margin_ranking_loss, torch.compile(torch.nn.functional.margin_ranking_loss)):
    print(run(a, b, sign, reduction='none'), run(a, b, sign, 0.5, reduction='sum'), run(a.short(), b.short(), -sign.short()), run(a.float(), b.float(), sign.float()))
