"""Extrema with their places, sorting, medians."""
import torch


def order(x, q, n):
    values, indices = torch.max(x, dim=1)
    low = q.min(dim=0, keepdim=True)
    top, at = torch.topk(x, 3)
    small = torch.topk(x, 2, largest=False)
    few = torch.topk(q, 4, dim=0)
    s = torch.sort(q, descending=True)
    m = torch.median(q, 1)
    return (values, indices, low.values, low.indices, top, at, small[0], small[1], few.values, few.indices, s.values,
            s.indices, torch.argsort(n, dim=0), q.kthvalue(2, 1).values, m.values, m.indices, torch.median(n),
            q.argmax(), q.argmin(dim=-1), torch.any(q > 2, dim=(0, 1)), torch.all(q > -9, 0), n.prod(1))


def get_inputs():
    return [torch.randn(6, 300), torch.floor(torch.randn(9, 7) * 2), torch.arange(24).reshape(6, 4) * 7 % 5]
