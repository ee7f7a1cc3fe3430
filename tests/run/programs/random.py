"""Random numbers drawn in forward, and casts that round in the middle of a kernel."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.3)
        self.channels = nn.Dropout2d(0.5)

    def forward(self, x):
        a = F.softmax(self.drop(x), -1)
        b = self.channels(x.view(4, 8, 2, 9))
        coins = torch.bernoulli(torch.sigmoid(x))
        die = torch.randint(1, 7, (64, 9))
        rounded = (x.to(torch.bfloat16).float() - x).abs().sum(0)
        return a, b, coins, die, x + torch.randn_like(x) * 0.1, rounded, F.dropout(x, 1.0), F.dropout(x, 0.9, False)


def get_inputs():
    return [torch.randn(64, 9)]
