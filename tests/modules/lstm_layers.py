import torch
import torch.nn as nn


class Model(nn.Module):
    """Layers of the library, in both directions, with what they end in."""
    def __init__(self):
        super().__init__()
        self.net = nn.LSTM(6, 7, 2, bidirectional=True, proj_size=5, batch_first=True)

    def forward(self, x, h, c):
        y, (h, c) = self.net(x, (h, c))
        return y.relu(), h, c


def get_inputs():
    return [torch.randn(3, 12, 6), torch.randn(4, 3, 5), torch.randn(4, 3, 7)]
