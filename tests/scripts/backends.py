"""Backends that are functions of the program: the graph they get, what they may make of it, and what comes of mistakes."""
from typing import List

import torch
from functorch.compile import make_boxed_func
from torch._dynamo import lookup_backend, register_backend
from torch._dynamo.backends.common import aot_autograd


def show(gm: torch.fx.GraphModule, example_inputs: List[torch.Tensor]):
    assert isinstance(gm, torch.nn.Module)
    gm.print_readable()
    gm.graph.print_tabular()
    print(gm.graph)
    return gm.forward


@torch.compile(backend=show)
def scaled(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


torch.manual_seed(0)
a, b = torch.randn(10), torch.ones(10)
for _ in range(2):
    assert torch.allclose(scaled(a, b), a / (a.abs() + 1))
    assert torch.allclose(scaled(a, -b), a / (a.abs() + 1))


# sizes that are symbols are inputs, what is computed of them is nodes
sized = torch.compile(lambda x: (x * x.shape[0]).flatten(), backend=show, dynamic=True)
for n in 3, 5:
    x = torch.randn(n, 2)
    assert torch.equal(sized(x), (x * n).flatten())

# several tensors are a list of nodes
def joined(gm, example_inputs):
    lists = [node.args[0] for node in gm.graph.nodes if node.op == 'call_function' and isinstance(node.args[0], (list, tuple))]
    assert [len(nodes) for nodes in lists] == [3] and all(isinstance(node, torch.fx.Node) for node in lists[0])
    return gm


x = torch.randn(2, 3)
assert torch.equal(torch.compile(lambda x: torch.cat([x, x * 2, x]), backend=joined)(x), torch.cat([x, x * 2, x]))

# a graph may be changed
def times(gm, example_inputs):
    for node in gm.graph.nodes:
        if node.op == 'call_function' and node.target == torch.add:
            node.target = torch.mul
    with gm.graph.inserting_before(gm.graph.find_nodes(op='output')[0]):
        last = gm.graph.nodes[-2]
        negative = gm.graph.call_function(torch.neg, (last,))
    gm.graph.nodes[-1].replace_input_with(last, negative)
    gm.graph.lint()
    gm.recompile()
    return gm


assert torch.compile(lambda x, y: x + y, backend=times)(torch.tensor([3.0]), torch.tensor([5.0])).item() == -15


# by name, and one of another; layers of a kind are compiled once
n_compiled = [0]


@register_backend
def counting(gm, example_inputs):
    n_compiled[0] += 1
    return lookup_backend('eager')(gm, example_inputs)


assert 'counting' in torch._dynamo.list_backends() and 'eager' not in torch.compiler.list_backends()
assert 'eager' in torch._dynamo.list_backends(None)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return torch.relu(self.linear(x)).detach()


layers = torch.nn.ModuleList([torch.compile(Layer(), backend='counting') for _ in range(12)])
x = want = torch.randn(2, 3)
for layer in layers:
    x, want = layer(x), torch.relu(layer.linear(want))
assert torch.allclose(x, want) and n_compiled == [1], n_compiled


# gradients: by the operators that forward calls, or by a graph of their own
def gradients(model, x):
    model.zero_grad()
    model(x).square().sum().backward()
    return [p.grad.clone() for p in model.parameters()]


model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
x = torch.randn(5, 3)
plain = gradients(model, x)


def quiet(gm, example_inputs):
    print(len(example_inputs), 'inputs:', [node.name for node in gm.graph.nodes if node.op == 'call_function'])
    return make_boxed_func(gm.forward)


for backend in quiet, aot_autograd(fw_compiler=quiet), aot_autograd(fw_compiler=quiet, bw_compiler=quiet):
    compiled = torch.compile(model, backend=backend)
    for _ in range(2):
        assert all([torch.allclose(p, q) for p, q in zip(plain, gradients(compiled, x))])

# updates in place, random numbers
@torch.compile(backend=quiet)
def update(x):
    x.add_(1)
    return x.sum()


x = torch.ones(3)
assert update(x).item() == 6 and torch.equal(x, torch.full((3,), 2.0))
drawn = torch.compile(lambda x: torch.nn.functional.dropout(x) * torch.rand(x.shape), backend=quiet)
assert not torch.equal(drawn(torch.ones(100)), drawn(torch.ones(100)))


# mistakes of a backend
def fails(gm, example_inputs):
    raise ValueError('not today')


def short(gm, example_inputs):
    return lambda *args: (torch.ones(1),)


def empty(gm, example_inputs):
    return lambda *args: ()


for backend in fails, short, empty:
    try:
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
        raise AssertionError(backend)
    except RuntimeError as e:
        print(type(e).__name__, str(e))
try:
    torch.compile(lambda x: x, backend=3)
    raise AssertionError('3 is no backend')
except RuntimeError as e:
    print(e)
print(torch.backends.mps.is_available(), torch.backends.mps.is_built(), torch.backends.mkldnn.is_available(), torch.xpu.is_available(),
      torch.xpu.device_count(), 'cuda' if torch.cuda.is_available() else 'mps' if torch.backends.mps.is_available() else 'cpu')
