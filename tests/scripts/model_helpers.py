"""Of the standard library and of torch's own helpers, what models use beside tensors."""
import builtins
import collections.abc
import functools
import operator
import typing
import warnings
from functools import partial
from typing import Callable, Sequence

import numpy
import torch
import torch.nn.functional as F
from packaging import version
from torch import nn
from torch.nn.init import _calculate_fan_in_and_fan_out
from torch.nn.modules.transformer import _get_activation_fn, _get_clones
from torch.nn.utils import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

norm = partial(nn.LayerNorm, eps=1e-6)
print(isinstance(norm, partial), norm.func is nn.LayerNorm, norm.keywords, partial(max, 3)(2), norm(4).eps)
print(isinstance([1], Sequence), isinstance(3, Sequence), isinstance(len, Callable), isinstance({}, typing.Mapping))
print([isinstance(x, collections.abc.Iterable) for x in ([], 3, 'a', {}, range(2))])
print('silu' in dir(F), 'slu' in dir(F), builtins.max(1, 2), operator.itemgetter(1, 0)('ab'), operator.attrgetter('T.shape')(torch.zeros(2, 3)))


@functools.total_ordering
class Size:
    def __init__(self, n):
        self.n = n
        self.one = 1

    def __eq__(self, other):
        return self.n == other.n

    def __lt__(self, other):
        return self.n < other.n


print(Size(1) <= Size(1), Size(2) > Size(1), Size(1) >= Size(2), [n for n in dir(Size(1)) if n[0] != '_'])


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(2):
            self.__setattr__(f'layer_{i}', nn.Linear(2, 2))
        self.scale = nn.Parameter(torch.ones(1))


layers = Layers()
print(layers.__getattr__('layer_1'), layers.__getattr__('scale').item(), len(list(layers.parameters())))
print(_calculate_fan_in_and_fan_out(torch.empty(4, 3, 2, 2)), _get_activation_fn('gelu')(torch.zeros(1)), len(_get_clones(nn.ReLU(), 3)))
print(nn.init.dirac_(torch.empty(2, 2, 3))[1], (nn.init.sparse_(torch.empty(4, 3), 0.5) == 0).sum(0))
with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    print([tuple(x.shape) for x in torch.tensor_split(torch.zeros(5), indices=(1, 3))])
print(torch.arange(torch.tensor(3)), torch.distributed.is_initialized())
adjacency = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2.0, 3.0]), (2, 2))
print(torch.spmm(adjacency, torch.ones(2, 2)), torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 1)).shape)
versions = [version.parse(text) for text in ('2.1', '2.1.0', '2.10.1', '2.0.0+cu118')]
print(versions[0] == versions[1], versions[2] > versions[1], versions[3] >= versions[0], versions[2].major)
print(version.parse(torch.__version__) >= version.parse('2.0.0'))

# -- what published models ask of modules, devices and numbers
pair = nn.ModuleList([nn.Linear(2, 2), None])
print([type(m).__name__ for m in pair.modules()], len(pair), pair[1], [name for name, _ in pair.named_children()])
for norm, remove in ((weight_norm, remove_weight_norm), (spectral_norm, remove_spectral_norm)):
    layer = norm(nn.Linear(3, 2)).eval()
    before = layer(torch.ones(1, 3))
    assert remove(layer) is layer and torch.allclose(layer(torch.ones(1, 3)), before)
    print(sorted([name for name, _ in layer.named_parameters()]), list(layer.buffers()))
with torch.random.fork_rng():
    inside = torch.rand(2)
assert torch.equal(inside, torch.rand(2))
with torch.device('cpu'):
    zero = torch.zeros(2, layout=inside.layout)
print(zero, zero.layout == torch.strided, torch.cuda.is_initialized(), torch.linspace(0, 1, torch.tensor(3)))
print(numpy.ceil(numpy.log(20)).astype('int').item(), numpy.float64(2.7).astype(numpy.int64))
print(abs(torch.complex(torch.tensor(3.0), torch.tensor(4.0))), torch.eye(3)[:, (2, 0)].sum(1), torch.eye(2)[[[0], [1]], [0, 1]])


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_variables if hasattr(ctx, 'saved_variables') else ctx.saved_tensors
        return grad * 2 * x


x = torch.ones(2, requires_grad=True)
Double.apply(x).sum().backward()
print(x.grad)
