import torch
import torch.nn.functional as F


def selected(logits, labels, x):
    valid = labels != 0
    loss = F.cross_entropy(logits[valid], labels[valid])
    x[valid] = x[labels != 0] * 2
    return loss, x[valid].mean()


def get_inputs():
    return [torch.randn(4, 6, 8), torch.randint(0, 8, (4, 6)), torch.randn(4, 6)]
