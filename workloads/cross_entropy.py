"""Cross entropy of rows of scores against class indices: x (rows, vocab), target (rows) -> a number. Reads rows*vocab
elements."""
import torch
import torch.nn.functional as F

rows = 8192
vocab = 32000
smoothing = 0.0


def cross_entropy(x, target):
    return F.cross_entropy(x, target, label_smoothing=smoothing)


def get_inputs():
    return [torch.randn(rows, vocab), torch.arange(rows) * 7919 % vocab]
