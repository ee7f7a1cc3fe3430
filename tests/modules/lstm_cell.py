import torch
import torch.nn as nn


class Model(nn.Module):
    """An LSTM unrolled by hand over a short sequence."""
    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.x, self.h = nn.Linear(inputs, 4 * hidden), nn.Linear(hidden, 4 * hidden)

    def cell(self, x, state):
        h, c = state
        i, f, g, o = (self.x(x) + self.h(h)).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def forward(self, xs):
        batch = xs.size(1)
        state = (torch.zeros(batch, self.hidden), torch.zeros(batch, self.hidden))
        for t in range(xs.size(0)):
            state = self.cell(xs[t], state)
        return state[0]


def get_inputs():
    return [torch.randn(4, 6, 10)]


def get_init_inputs():
    return [10, 12]
