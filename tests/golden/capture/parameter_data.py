"""A parameter whose memory is assigned before forward: of another shape; of another's, and then updated through either."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        start = torch.zeros(4)
        self.a, self.b = nn.Parameter(start), nn.Parameter(start)
        self.c = nn.Parameter(torch.zeros(2))
        self.c.data = torch.ones(3, 4)
        self.d = nn.Parameter(torch.zeros(2))
        self.d.data = self.c.data[0]
        self.c.data += 1
        self.d.data[1] = 5
        start.fill_(torch.tensor(2.0))

    def forward(self, x):
        return x * self.a + self.b * self.d + self.c.sum(0)


def get_inputs():
    return [torch.arange(4.0)]
