"""The nearest of many points: more than eight of rows that are too long to compare all of them, by rounds."""
import torch


def neighbours(x):
    near = torch.topk(x, 10, largest=False)
    return near.values, near.indices


def get_inputs():
    return [torch.randn(65, 1024)]
