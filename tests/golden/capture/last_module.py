"""A file without Model and without a function of its name: its last module, of arguments and named arguments. What is
imported and not used need not be there; the classes of torch.nn are where PyTorch defines them, too."""
import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
import torch.nn.parallel
import torch.utils.data.distributed
from torch.autograd import Variable
from torch.nn.modules.loss import _Loss
from torch.nn.modules.normalization import LayerNorm
from torch.distributions import Normal

cudnn.benchmark = True


class Scaled(_Loss):
    def __init__(self, scale):
        super().__init__(reduction='sum')
        self.scale = scale

    def forward(self, x):
        return x.mean() * self.scale if self.reduction == 'mean' else x.sum() * self.scale


class Net(nn.Module):
    def __init__(self, dim, bias=True, scale=1.0):
        super().__init__()
        self.norm = LayerNorm(dim, bias=bias)
        self.loss = Scaled(scale)

    def forward(self, x):
        return self.loss(self.norm(x) + Variable(x))


Net_alias = nn.Linear


def get_inputs():
    return [torch.rand([2, 4])]


def get_init_inputs():
    return [[4], {'scale': 0.5, 'bias': False}]
