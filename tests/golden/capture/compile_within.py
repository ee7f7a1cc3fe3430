"""Module.compile and a function as backend: a workload is one graph, whatever it says of compiling."""
import torch
import torch.nn as nn

rows = 64


def mine(gm, inputs):
    return gm.forward


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)
        self.lin.compile()

    def forward(self, x):
        return helper(torch.relu(self.lin(x)))


@torch.compile(backend=mine)
def helper(x):
    return x.cos() if torch.compiler.is_compiling() else x.sin()


def get_inputs():
    return [torch.randn(rows, 8)]
