"""Lengths and labels that come as a few integers: what is made of them has values, which decide shapes and branches. Beside
it a function with gradients of its own that has no @staticmethod, and tensors made of a size."""
import logging
from io import BytesIO, StringIO

import torch
from torch.autograd.function import InplaceFunction

rows = 4
log = logging.LoggerAdapter(logging.getLogger(__name__), {})


class Sign(InplaceFunction):
    def forward(ctx, x, scale=1):
        return x.sign() * scale

    def backward(ctx, gradient):
        return gradient, None


def forward(x, lengths, labels):
    longest = lengths.max().item()
    lengths = torch.div(lengths - 1, 2, rounding_mode='floor') + 1
    mask = torch.BoolTensor(x.size()).fill_(0)
    for i, length in enumerate(lengths):
        if mask[i].size(0) - length.item() > 0:
            mask[i].narrow(0, length.item(), mask[i].size(0) - length.item()).fill_(1)
    same = (labels[:, None] == labels[None]).fill_diagonal_(False)
    log.info('%d pairs', same.sum())
    a, b = torch.where(same)
    pulled = (x[a] - x[b]).pow(2).sum(1)
    rest = x.mean(0)
    if labels.bincount().max() > 2:
        rest = rest * 2
    return x.masked_fill(mask, 0.0)[:, :longest], pulled, rest, x[labels > 1, 1:], Sign.apply(x, 2) * torch.FloatTensor(x.shape).fill_(3)


def get_inputs():
    return [torch.randn(rows, 8), torch.tensor([7, 5, 2, 1]), torch.tensor([2, 0, 2, 2])]
