"""Dynamo custom backends: a function as backend, registered ones, backends after AOTAutograd, one made of others."""
from typing import List

import torch
from functorch.compile import make_boxed_func
from torch._dynamo import lookup_backend, register_backend
from torch._dynamo.backends.common import aot_autograd


def calls(gm):
    return len([node for node in gm.graph.nodes if node.op in ('call_function', 'call_method')])


def my_compiler(gm: torch.fx.GraphModule, example_inputs: List[torch.Tensor]):
    print('my_compiler() called with a graph of', calls(gm), 'calls and', len(example_inputs), 'inputs')
    return gm.forward  # return a python callable


@torch.compile(backend=my_compiler)
def fn(x, y):
    a = torch.cos(x)
    b = torch.sin(y)
    return a + b


print(fn(torch.ones(4), torch.zeros(4)))


class MockModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.relu = torch.nn.ReLU()

    def forward(self, x):
        return self.relu(torch.cos(x))


print(torch.compile(MockModule(), backend=my_compiler)(torch.arange(4.0)))


@torch.compile(backend=my_compiler)
def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


for i in range(6):
    toy_example(torch.arange(10.0), torch.ones(10) * (-1) ** i)
print(toy_example(torch.arange(10.0), -torch.ones(10)))


@register_backend
def named_compiler(gm, example_inputs):
    print('named_compiler()')
    return gm.forward


print('named_compiler' in torch._dynamo.list_backends(), 'inductor' in torch.compiler.list_backends())
print(torch.compile(lambda x: x + 1, backend='named_compiler')(torch.zeros(2)))


def after_autograd(gm, example_inputs):
    print('after AOTAutograd:', len([node for node in gm.graph.nodes if node.op == 'output']), 'output node')
    return make_boxed_func(gm.forward)


model = torch.nn.Linear(3, 2)
with torch.no_grad():
    model.weight.copy_(torch.arange(6.0).reshape(2, 3) / 10)
    model.bias.zero_()
model_opt = torch.compile(model, backend=aot_autograd(fw_compiler=after_autograd))
loss = model_opt(torch.arange(3.0)).square().sum()
loss.backward()
print(loss.item(), model.weight.grad)


def composed(gm, example_inputs):
    try:
        compiled = lookup_backend('tensorrt')(gm, example_inputs)
        if compiled is not None:
            return compiled
    except Exception:
        print('no tensorrt')
    try:
        compiled = lookup_backend('eager')(gm, example_inputs)
        if compiled is not None:
            return compiled
    except Exception:
        pass
    return gm.forward


print(torch.compile(lambda x: x * 2 + 1, backend=composed)(torch.ones(3)))
