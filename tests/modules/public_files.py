"""What public files do beside their model: they look for packages and install them, name folders, read files of bytes, take
functions from the modules that PyTorch has them in, and give a list of parameters the name of a method."""
import os
from pathlib import Path

import numpy as np
import torch
import torch._inductor.config
from torch import nn
from torch.autograd import Variable
from torch.nn.utils.weight_norm import weight_norm
import torch.nn.functional as F
from torchvision import datasets

try:
    import no_such_package
except ImportError:
    os.system('pip install no_such_package')

rows = 4
loader = torch.utils.data.DataLoader(datasets.MNIST('data', download=True), batch_size=rows, shuffle=True)
torch._inductor.config.triton.unique_kernel_names = True
ROOT = Path('/home/someone/net/model.py').parents[1]
assert str(ROOT) == '/home/someone' and os.path.relpath(ROOT, '/home') == 'someone'
torch.set_printoptions(profile='long')


def is_image(path):
    with open(path, 'rb') as f:
        return f.read(2) == b'\xff\xd8'


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = weight_norm(nn.Linear(8, 8))
        self.parameters = [nn.Parameter(torch.randn(8)), nn.Parameter(torch.randn(8))]
        self.parameters = nn.ParameterList(self.parameters)
        self.n_parameters = len(list(self.parameters()))
        self.register_buffer('steps', torch.tensor(np.append(1.0, np.cumprod(np.linspace(.9, .6, 8))[:-1])).float())

    def forward(self, x):
        assert isinstance(x, Variable) and not isinstance(x, bytes) and self.n_parameters == 5
        x = self.mix(x) * self.steps
        x[:, 4::2] = x.new_zeros(rows, 0, 8)
        x[rows:] = 1.0
        return F.linear(x, self._modules['parameters'][0]), F.linear(x, self._modules['parameters'][1], x.new_tensor(2.0))


def get_inputs():
    return [torch.randn(rows, 3, 8)]
