"""Branches on values of tensors in compiled functions: breaks, and never another branch than the values say."""
import torch
import torch.nn.functional as F
from torch import nn


def data(*s):
    n = 1
    for k in s:
        n *= k
    return (torch.arange(n, dtype=torch.float32) * 1.7).sin().view(*s)


def focal(pred, gt):
    pos = gt.eq(1).float()
    neg = gt.lt(1).float()
    neg_w = torch.pow(1 - gt, 4)
    loss = 0
    pos_loss = torch.log(pred) * torch.pow(1 - pred, 2) * pos
    neg_loss = torch.log(1 - pred) * torch.pow(pred, 2) * neg_w * neg
    num_pos = pos.float().sum()
    pos_loss = pos_loss.sum()
    neg_loss = neg_loss.sum()
    if num_pos == 0:
        loss = loss - neg_loss
    else:
        loss = loss - (pos_loss + neg_loss) / num_pos
    return loss


def any_mask(x):
    m = x > 0.9
    y = x * 2
    if m.any():
        y = y.masked_fill(m, 0.0)
        y[m] = y[m] + 1
    else:
        y = y - 1
    if not (x > 2).any():
        y = y * 3
    return y


def any_in(x, flags):
    total = x.sum() * 0
    for i in range(len(flags)):
        if flags[i]:
            total = total + x[i].exp().sum()
    return total


def loop_items(x):
    n = int((x > 0).sum())
    out = x[:n] * 2
    for k in range(n % 4):
        out = out + k
    return out


def per_class(x, lab):
    losses = []
    for c in lab.unique():
        m = lab == c
        if m.sum() < 2:
            continue
        losses.append(x[m].mean() ** 2)
    return torch.stack(losses).sum()


def topn(x):
    k = x.argmax().item()
    if k > 3:
        return x[:k] * 2
    return x[k:] * 3


def whiles(x):
    while x.norm() > 1:
        x = x / 2
    return x


def asserts(x):
    assert torch.isfinite(x).all(), 'not finite'
    if torch.isnan(x).any() or torch.isinf(x).any():
        raise ValueError('bad')
    return x.abs().sqrt()


def tol(x):
    for v in x.tolist():
        if v > 0:
            x = x + v
    return x


def places(x):
    i, j = torch.nonzero(x > 0.5, as_tuple=True)
    if i.numel() == 0:
        return x.sum()
    return (x[i, j] * i.float()).sum()


def matches(cost):
    row = cost.argmin(0)
    taken = torch.zeros(cost.shape[0], dtype=torch.bool)
    for j in range(cost.shape[1]):
        if not taken[row[j]]:
            taken[row[j]] = True
    if taken.all():
        return cost.sum()
    return cost[taken].sum()


def both(x, y):
    if x.sum() > 0 and y.sum() < 0:
        return x - y
    elif x.max() > y.max():
        return x * y
    return x + y


def state(x):
    best = None
    for i in range(3):
        v = x[i].sum()
        if best is None or v > best:
            best = v
    return best * x


def ternary(x):
    s = 2 if x.mean() > 0 else -3
    return x * s


def mx(x):
    return x * max(x.max(), x.abs().mean())


def boolcast(x):
    b = bool((x > 0).all())
    return x if b else -x


def inloop(x):
    h = x[0] * 0
    for t in range(x.shape[0]):
        h = torch.tanh(h + x[t])
        if h.sum() > 0.5:
            break
    return h


cases = [('focal0', focal, lambda: (torch.sigmoid(data(2, 3, 4)), torch.zeros(2, 3, 4))),
         ('focal1', focal, lambda: (torch.sigmoid(data(2, 3, 4)), (data(2, 3, 4) > 0.9).float())),
         ('any_mask', any_mask, lambda: (data(5, 6),)), ('any_mask0', any_mask, lambda: (data(5, 6) * 0.5,)),
         ('any_in', any_in, lambda: (data(4, 3), torch.tensor([True, False, True, True]))),
         ('loop_items', loop_items, lambda: (data(9),)),
         ('per_class', per_class, lambda: (data(9), torch.tensor([0, 1, 1, 2, 2, 0, 1, 3, 2]))),
         ('topn', topn, lambda: (data(9),)), ('topn2', topn, lambda: (-data(9) - torch.arange(9.),)),
         ('whiles', whiles, lambda: (data(9) * 9,)), ('asserts', asserts, lambda: (data(9) + 3,)),
         ('tol', tol, lambda: (data(5),)), ('places', places, lambda: (data(5, 4),)), ('places0', places, lambda: (data(5, 4) * 0.1,)),
         ('matches', matches, lambda: (data(3, 4),)), ('both', both, lambda: (data(5), -data(5))),
         ('both2', both, lambda: (-data(5) - 1, -data(5) - 3)), ('state', state, lambda: (data(3, 4),)),
         ('ternary', ternary, lambda: (data(5),)), ('ternary2', ternary, lambda: (-data(5),)), ('mx', mx, lambda: (data(5),)),
         ('boolcast', boolcast, lambda: (data(5),)), ('inloop', inloop, lambda: (data(6, 3),))]
for name, f, make in cases:
    g = torch.compile(f)
    for again in range(2):
        args = make()
        x = args[0].clone().requires_grad_()
        y = g(x * 1.0 if name != 'tol' else x.detach(), *args[1:])
        if again:
            if y.requires_grad:
                (y * data(*y.shape)).sum().backward() if y.dim() else y.backward()
            print(name, [round(v, 3) + 0.0 for v in y.detach().flatten().tolist()],
                  [round(v, 3) + 0.0 for v in x.grad.flatten().tolist()] if x.grad is not None else None)
