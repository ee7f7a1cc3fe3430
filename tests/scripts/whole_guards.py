"""Lists, tuples, dicts and slices that a compiled function is given whole, again with other contents: what it returns is
what the function itself returns."""
import torch
import torch._dynamo

a, b, c, d = [torch.full((2,), float(i)) for i in range(4)]
m, ones = torch.arange(6).view(2, 3), torch.ones(2, 3)


def plain(v):
    if isinstance(v, torch.Tensor):
        return [str(v.dtype), tuple(v.shape), v.double().mul(1000).round().tolist()]
    return [plain(u) for u in v] if isinstance(v, (tuple, list)) else v


def same(f, *calls):
    torch._dynamo.reset()
    g = torch.compile(f)
    for call in calls:
        assert plain(g(*call)) == plain(f(*call)), (call, plain(g(*call)), plain(f(*call)))


same(lambda xs: torch.cat(xs), ([a, b],), ([c, d],), ([c, d, a],), ((d,),))
same(lambda xs: torch.stack(xs, 1).sum(), ([a, b],), ([c, d],))
same(lambda x, s: (x * 2).reshape(s), (m, (3, 2)), (m, (2, 3)), (m, [6]), (m, (1, 6)))
same(lambda x, s: torch.reshape(x, s), (m, (3, 2)), (m, (1, 6)))
same(lambda x, s: x.view(s), (m, (3, 2)), (m, (1, 6)))
same(lambda x, s: x + torch.zeros(s), (a, (3, 2)), (a, (1, 2)))
same(lambda x, s: torch.full(size=s, fill_value=2.0) + x, (a, (3, 2)), (a, (1, 2)))
same(lambda x, s: x.sum(s), (m, (0,)), (m, (1,)), (m, (0, 1)))
same(lambda x, s: x.permute(s), (m, (0, 1)), (m, (1, 0)))
same(lambda x, s: x.repeat(s), (m, (1, 1)), (m, (2, 1)))
same(lambda x, s: x.flip(s), (m, (0,)), (m, (1,)))
same(lambda x, s: x.split(s, 1)[0], (m, [1, 2]), (m, [2, 1]))
same(lambda x, s: torch.nn.functional.pad(x, s), (m, (0, 1)), (m, (1, 1)))
same(lambda x, s: torch.roll(x, s), (m, (1,)), (m, (2,)))
same(lambda x, s: torch.nn.functional.layer_norm(x, s), (ones * m, (3,)), (ones * m, (2, 3)))
same(lambda x, s: torch.nn.functional.avg_pool2d(x, s), (ones[None], (1, 2)), (ones[None], (2, 2)))
same(lambda x, s: x.movedim((0, 1), s), (ones[None], (2, 1)), (ones[None], (1, 0)))
same(lambda x, s: torch.tensordot(x, x, s), (torch.ones(3, 3), ([0], [1])), (torch.ones(3, 3), ([0, 1], [1, 0])))
same(lambda x, s: torch.broadcast_to(x, s), (a, (1, 2)), (a, (3, 2)))
same(lambda x, k: torch.zeros(**k) + x, (a, {'size': (2,)}), (a, {'size': (3, 2)}))
same(lambda x, i: x[i], (m, [0, 1]), (m, [1, 1, 0]))
same(lambda x, i: x[i], (m, slice(0, 1)), (m, slice(1, 2)), (m, slice(None, None, 2)))
same(lambda x, i: x[:, i], (m, slice(0, 1)), (m, slice(1, 3)))
same(lambda x, i: x[i], (m, (0, 1)), (m, (1, 2)), (m, (1,)), (m, (slice(0, 1), 1)), (m, (slice(1, 2), 1)))


def put(x, i):
    x = x * 1
    x[i] = 9
    return x


same(put, (m, (0, 1)), (m, (1, 2)), (m, [0, 1]), (m, slice(1, 2)))


class Held:
    def __init__(self, shape):
        self.shape = shape


same(lambda x, held: x.reshape(held.shape), (m, Held((3, 2))), (m, Held((6,))))


def made(n, shape):
    return torch.arange(13)[torch.arange(n)].reshape(shape)


same(lambda n, s: made(n, s), (6, (2, 3)), (6, (3, 2)), (6, (1, 6)))
