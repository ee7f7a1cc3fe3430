"""Introduction to torch.compile: functions, decorators, modules, nested calls, speed, graph breaks, control flow."""
import traceback
import warnings

import numpy as np
import torch

if torch.cuda.is_available():
    if torch.cuda.get_device_capability() not in ((7, 0), (8, 0), (9, 0)):
        warnings.warn('another GPU than the one of the numbers')


def ramp(*shape):
    n = 1
    for size in shape:
        n *= size
    return (torch.arange(n, dtype=torch.float32).reshape(shape) - n / 2) / n


def foo(x, y):
    a = torch.sin(x)
    b = torch.cos(y)
    return a + b


print(torch.compile(foo)(ramp(3, 3), ramp(3, 3)))


@torch.compile
def decorated(x, y):
    a = torch.sin(x)
    b = torch.cos(y)
    return a + b


print(torch.allclose(decorated(ramp(10, 10), ramp(10, 10)), foo(ramp(10, 10), ramp(10, 10))))


def inner(x):
    return torch.sin(x)


@torch.compile
def outer(x, y):
    a = inner(x)
    b = torch.cos(y)
    return a + b


print(torch.allclose(outer(ramp(10, 10), ramp(10, 10)), foo(ramp(10, 10), ramp(10, 10))))


class MyModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)

    def forward(self, x):
        return torch.nn.functional.relu(self.lin(x))


class OuterModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner_module = MyModule()
        self.outer_lin = torch.nn.Linear(3, 2)

    def forward(self, x):
        return torch.nn.functional.relu(self.outer_lin(self.inner_module(x)))


mod = OuterModule()
with torch.no_grad():
    for p in mod.parameters():
        p.copy_(ramp(*p.shape) + 0.6)
expected = mod(ramp(4, 3))
mod.compile()
print(mod(ramp(4, 3)))
print(torch.allclose(mod(ramp(4, 3)), expected))


def timed(fn):
    if not torch.cuda.is_available():
        import time
        start = time.perf_counter()
        return fn(), time.perf_counter() - start
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()
    result = fn()
    end.record()
    torch.cuda.synchronize()
    return result, start.elapsed_time(end) / 1000


def foo3(x):
    y = x + 1
    z = torch.nn.functional.relu(y)
    return z * 2


opt_foo3 = torch.compile(foo3)
inp = ramp(256, 256)
times = {'eager': [], 'compile': []}
for i in range(3):
    times['eager'].append(timed(lambda: foo3(inp))[1])
    times['compile'].append(timed(lambda: opt_foo3(inp))[1])
print(np.median(times['eager']) > 0, np.median(times['compile']) > 0)


# graph breaks
def bar(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


opt_bar = torch.compile(bar)
inp1, inp2 = ramp(10), torch.ones(10)
for b in inp2, -inp2:
    print(opt_bar(inp1, b).sum(), torch.allclose(opt_bar(inp1, b), bar(inp1, b)))
torch._dynamo.reset()
try:
    torch.compile(bar, fullgraph=True)(inp1, inp2)
    print('no error')
except torch._dynamo.exc.Unsupported:
    traceback.print_exc()
    print('fullgraph=True: an error')


@torch.compile(fullgraph=True)
def bar_fixed(a, b):
    x = a / (torch.abs(a) + 1)
    b = torch.cond(b.sum() < 0, lambda y: y * -1, lambda y: y.clone(), (b,))
    return x * b


print(torch.allclose(bar_fixed(inp1, inp2), bar(inp1, inp2)), torch.allclose(bar_fixed(inp1, -inp2), bar(inp1, -inp2)))


# what other compilers cannot do
def f1(x, y):
    if x.sum() < 0:
        return -y
    return y


def test_fns(fn1, fn2, args):
    return torch.allclose(fn1(*args), fn2(*args))


inp1, inp2 = ramp(5, 5) + 1, ramp(5, 5)
torch._dynamo.reset()
compile_f1 = torch.compile(f1)
print('compile 1, 1:', test_fns(f1, compile_f1, (inp1, inp2)))
print('compile 1, 2:', test_fns(f1, compile_f1, (-inp1, inp2)))


def f2(x, y):
    return x + y


print('compile 2:', test_fns(f2, torch.compile(f2), (inp1, 3)))


def f3(x):
    x = x * 2
    x = np.sin(x.numpy())
    x = torch.from_numpy(x)
    return x * 2


print('compile 3:', test_fns(f3, torch.compile(f3), (inp2,)))
