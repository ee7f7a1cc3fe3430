import torch.nn.functional as F
import torch


def forward(i, table):
    return F.embedding(i, table, scale_grad_by_freq=True)


def get_inputs():
    return [torch.tensor([1, 1, 2]), torch.rand(4, 5)]
