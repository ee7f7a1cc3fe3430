"""out= of functions: one tensor, several, memory of another type, and memory without elements, which takes the result's shape."""
import torch
import torch.nn.functional as F

x = torch.tensor([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]])
i = torch.tensor([[2, 0, 1], [1, 2, 0]])


def into_one(x, i):
    """Of operators, and of functions that are made of others."""
    made = [torch.empty(2, 3) for _ in range(5)]
    torch.add(x, 1, out=made[0])
    torch.cumsum(x, 1, out=made[1])
    torch.sinc(x, out=made[2])
    torch.gather(x, 1, i, out=made[3])
    torch.linalg.matrix_power(x[:, :2], 2, out=made[4][:, 1:])
    made[4][:, 0] = 0
    return tuple(made) + (torch.logaddexp2(x, x, out=None), torch.special.entr(x.abs(), out=torch.empty(2, 3)))


def into_several(x, i):
    values, places, wide = torch.empty(2, 3), torch.empty(2, 3, dtype=torch.int64), torch.empty(2, 3, dtype=torch.float64)
    torch.sort(x, 1, out=(values, places))
    torch.cummax(x, 0, out=(values, places))
    q, r = torch.empty(2, 2), torch.empty(2, 3)
    torch.linalg.qr(x, out=(q, r))
    return values, places, torch.floor_divide(x, 2, out=wide), wide, q, r


def into_none(x, i):
    """As long as nothing is there, the memory is made."""
    made, other = torch.empty(0), torch.empty(0, dtype=torch.float64)
    torch.cat([x, x], out=made)
    torch.fmax(x, x.flip(0), out=other)
    return made * 2, other


for f in (into_one, into_several, into_none):
    for found in (torch.compile(f, fullgraph=True)(x, i),):
        for v in found:
            print(f.__name__, str(v.dtype), [[round(a, 4) + 0.0 for a in row] for row in v.double().tolist()])
for f in (into_one, into_several):
    assert all(a.allclose(b, atol=1e-6) for a, b in zip(f(x, i), torch.compile(f)(x, i)))
try:
    torch.cummax(x, 0, out=(torch.empty(2, 3),))
except TypeError as error:
    print('TypeError')
