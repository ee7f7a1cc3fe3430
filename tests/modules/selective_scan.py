import torch
import torch.nn as nn


class Model(nn.Module):
    """A state space model as Mamba's, step by step: many steps, none of which has a product."""
    def __init__(self, channels=6, states=4):
        super().__init__()
        self.log_a = nn.Parameter(torch.randn(channels, states))
        self.in_proj = nn.Linear(channels, 2 * states + 1)
        self.states = states

    def forward(self, x):
        b, c, step = self.in_proj(x).split([self.states, self.states, 1], -1)
        step = torch.nn.functional.softplus(step)
        decay = torch.exp(-step.unsqueeze(-1) * self.log_a.exp())
        h = torch.zeros(x.size(0), x.size(2), self.states)
        out = []
        for t in range(x.size(1)):
            h = decay[:, t] * h + (step[:, t] * x[:, t]).unsqueeze(-1) * b[:, t].unsqueeze(1)
            out.append((h * c[:, t].unsqueeze(1)).sum(-1))
        return torch.stack(out, 1)


def get_inputs():
    return [torch.randn(2, 96, 6)]
