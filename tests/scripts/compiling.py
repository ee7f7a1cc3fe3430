"""What surrounds torch.compile: Module.compile, explain, stances, limits, logs, events, benchmarks."""
import copy
import logging
import traceback

import torch
import torch.utils.benchmark as benchmark

n_compiled = [0]


def counting(gm, example_inputs):
    n_compiled[0] += 1
    return gm.forward


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return torch.relu(self.linear(x))


# a module stays what it is; its copy has weights of its own
model, x = Layer(), torch.randn(2, 3)
model.compile(backend=counting)
assert torch.allclose(model(x), torch.relu(model.linear(x))) and n_compiled == [1]
assert isinstance(model, Layer) and list(model.state_dict()) == ['linear.weight', 'linear.bias']
other, third = copy.deepcopy(model), copy.deepcopy(torch.compile(model))
for layer in other, third:
    torch.nn.init.zeros_(layer.linear.weight)
    torch.nn.init.ones_(layer.linear.bias)
    assert torch.equal(layer(x), torch.ones(2, 3)) and not torch.equal(model(x), layer(x))

# a module of PyTorch's own is compiled, too
n_compiled[0] = 0
stack = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
assert torch.allclose(torch.compile(stack, backend=counting)(x), stack(x)) and n_compiled == [1]


# disable() is a graph break
@torch.compiler.disable
def outside(x):
    assert not torch.compiler.is_compiling()
    return x + 1


@torch.compile(backend=counting)
def inside(x):
    return outside(x.sin()).cos() * (1 if torch.compiler.is_compiling() else 2)


torch._dynamo.reset()
n_compiled[0] = 0
assert torch.allclose(inside(x), (x.sin() + 1).cos()) and n_compiled == [2]
assert not torch.compiler.is_compiling()

# stances
with torch.compiler.set_stance('fail_on_recompile'):
    inside(x)
    try:
        inside(x[0])
        raise AssertionError('no error')
    except RuntimeError as e:
        print(e)
with torch.compiler.set_stance('eager_on_recompile'):
    assert torch.allclose(inside(x[0]), (x[0].sin() + 1).cos() * 2)


@torch.compiler.set_stance('force_eager')
def eagerly(x):
    return inside(x)


assert torch.allclose(eagerly(x), (x.sin() + 1).cos() * 2) and n_compiled == [2]

# explain
told = torch._dynamo.explain(lambda x: print('hello') or x.sin() + x.cos())(x)
print(told)
assert told.graph_count == 1 and told.graph_break_count == 1 and told.op_count == 3 and len(told.graphs) == 1

# limits
torch._dynamo.config.recompile_limit = 2
n_compiled[0] = 0


@torch.compile(backend=counting, dynamic=False)
def grown(x):
    return x + 1


for n in range(2, 7):
    assert torch.equal(grown(torch.zeros(n)), torch.ones(n))
assert n_compiled == [2]
torch._dynamo.config.recompile_limit = 8
torch._dynamo.reset()
with torch._dynamo.config.patch(error_on_recompile=True):
    grown(torch.zeros(2))
    try:
        grown(torch.zeros(3))
        raise AssertionError('no error')
    except RuntimeError as e:
        print(e)
torch._dynamo.utils.counters.clear()
grown(torch.zeros(5))
assert torch._dynamo.utils.counters['stats']['unique_graphs'] == 1

# a choice by a value, in one graph
for sign in 1, -1:
    y = torch.cond((x * sign).sum() < 0, lambda y: -y, lambda y: y.clone(), (x,))
    chosen = torch.compile(lambda x, s: torch.cond((x * s).sum() < 0, lambda y: -y, lambda y: y.clone(), (x,)), fullgraph=True)
    assert torch.equal(chosen(x, sign), y)
row = torch.tensor([[1.0, 3.0, 2.0]])
largest = torch.compile(lambda x, p: torch.cond(p, lambda x: x.max(1), lambda x: (x * 2).max(1), (x,)))
assert largest(row, torch.tensor(True)).values.item() == 3 and largest(row, torch.tensor(False)).values.item() == 6

# tensors of no dimensions, and their gradients
for f in (lambda x: x.flip(0) * x, lambda x: x.cumsum(0) * x, lambda x: x.cumprod(-1) * x,
          lambda x: x.index_fill(0, torch.tensor([0]), 3.0) + x, lambda x: x.index_copy(0, torch.tensor([0]), x * x)):
    torch._dynamo.reset()
    a, b = torch.tensor(2.5, requires_grad=True), torch.tensor(2.5, requires_grad=True)
    y, z = f(a), torch.compile(f)(b)
    y.backward()
    z.backward()
    assert torch.equal(y, z) and torch.equal(a.grad, b.grad)
try:
    torch.compile(lambda x: x.index_select(0, torch.tensor([0, 0])))(torch.tensor(2.5))
    assert False
except RuntimeError as e:
    assert 'Index to scalar can have only 1 value' in str(e)

# what is said
torch._logging.set_logs(graph_code=True, dynamo=logging.INFO)
torch._logging.set_logs()
try:
    torch._logging.set_logs(nothing=True)
    raise AssertionError('no error')
except ValueError as e:
    assert 'graph_breaks' in str(e)

# an exception that is handled, as text
try:
    torch.compile(lambda x: print(x), fullgraph=True)(x)
except Exception:
    print(traceback.format_exc(), end='')
    traceback.print_exc()
assert traceback.format_exc() == 'NoneType: None\n'

# events and benchmarks
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
try:
    start.elapsed_time(end)
    raise AssertionError('no error')
except ValueError as e:
    print(e)
start.record()
inside(x)
end.record()
torch.cuda.synchronize()
assert start.elapsed_time(end) > 0 and end.query()
timer = benchmark.Timer(stmt='y = f(*args)\ny.sum()', globals={'f': torch.add, 'args': (x, x)})
assert timer.timeit(3).mean > 0 and timer.blocked_autorange(min_run_time=0.002).mean * 1e6 > 0
torch.compiler.cudagraph_mark_step_begin()
assert torch.sin is torch.sin and {torch.sin: 1}[torch.sin] == 1 and torch.sin != torch.cos
