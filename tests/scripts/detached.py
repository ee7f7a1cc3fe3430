"""What is written through a detached tensor has a gradient there, and none where else its memory is looked at."""
import torch


def added_to_result(x, w):
    y = x * 2
    z = y.detach()
    z.add_(w)
    return z * w + y.sum()


def added_to_data(x, w):
    y = x * 2
    y.data.add_(w)
    return y * x


def part_of_detached(x, w):
    z = (x * 2).detach()
    z[1:].add_(w[1:])
    return z * x


def leaf(x, w):
    x.data.mul_(w)
    return x * w


def part_of_leaf(x, w):
    z = x.detach()
    z[1:].add_(1)
    return z * x * w


def straight_through(x, w):
    q = x * 2
    z = (torch.round(q) - q).detach()
    z += q
    return z * w


def returned(x, w):
    y = x * 2
    z = y.detach()
    z.mul_(w)
    return z, y * w


def run(f, x_grad, w_grad):
    x = (torch.arange(4.0) + 1).requires_grad_(x_grad)
    w = torch.tensor([2.0, 3.0, 5.0, 7.0]).requires_grad_(w_grad)
    out = f(x, w)
    out = out if isinstance(out, tuple) else (out,)
    sum([t.sum() for t in out if t.requires_grad]).backward()
    print([t.tolist() for t in out], x.tolist(), *[t.grad.tolist() for t in (x, w) if t.grad is not None])


for f in (added_to_result, added_to_data, leaf, part_of_leaf, straight_through, returned):
    print(f.__name__)
    for how in (f, torch.compile(f)):
        run(how, True, False)
        if f is not added_to_data:
            run(how, True, True)
            run(how, False, True)
run(torch.compile(part_of_detached), True, True)


@torch.compile
def makes_leaves(x):
    a = (x * 2).requires_grad_()
    b = torch.ones(4, requires_grad=True)
    return a, b, a * b


a, b, c = makes_leaves(torch.arange(4.0))
c.sum().backward()
print(a.requires_grad, b.requires_grad, c.requires_grad, a.grad.tolist(), b.grad.tolist())
