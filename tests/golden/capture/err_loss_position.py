import torch.nn.functional as F
import torch


def forward(x, y):
    return F.cross_entropy(x, y, None, False)


def get_inputs():
    return [torch.rand(4, 5), torch.tensor([1, 0, 2, 3])]
