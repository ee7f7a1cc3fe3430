"""Recompilation: what guards are about, dynamic shapes, the limit, stances."""
import torch

n_compiled = [0]


def counting(gm, example_inputs):
    n_compiled[0] += 1
    return gm.forward


def compiled_by(*calls):
    before = n_compiled[0]
    for call in calls:
        call()
    return n_compiled[0] - before


@torch.compile(backend=counting)
def fn(x):
    return x + 1


print('another type:', compiled_by(lambda: fn(torch.ones(3)), lambda: fn(torch.ones(3)), lambda: fn(torch.ones(3, dtype=torch.int64))))
print('sizes:', compiled_by(lambda: fn(torch.ones(4)), lambda: fn(torch.ones(5)), lambda: fn(torch.ones(6))))


@torch.compile(backend=counting, dynamic=True)
def dynamic(x):
    return x * 2


print('dynamic=True:', compiled_by(*[lambda n=n: dynamic(torch.ones(n)) for n in (3, 4, 50)]))


@torch.compile(backend=counting, dynamic=False)
def static(x):
    return x * 3


print('dynamic=False:', compiled_by(*[lambda n=n: static(torch.ones(n)) for n in (3, 4, 50)]))


@torch.compile(backend=counting)
def marked(x):
    return x - 1


x = torch.ones(7)
torch._dynamo.mark_dynamic(x, 0)
print('mark_dynamic:', compiled_by(lambda: marked(x), lambda: marked(torch.ones(9))))


@torch.compile(backend=counting)
def scaled(x, c):
    return x * c


print('numbers:', compiled_by(*[lambda c=c: scaled(torch.ones(3), c) for c in (2, 3, 4, 5)]))


class Multiplier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.flag = True

    def forward(self, x):
        return x * 2 if self.flag else x * 3


model = Multiplier()
compiled = torch.compile(model, backend=counting)
print('an attribute:', compiled_by(lambda: compiled(torch.ones(2))))
model.flag = False
print('changed:', compiled_by(lambda: compiled(torch.ones(2))), compiled(torch.ones(2)))

torch._dynamo.config.recompile_limit = 2
torch._dynamo.reset()
print('the limit:', compiled_by(*[lambda n=n: static(torch.ones(n)) for n in (2, 3, 4, 5)]), static(torch.ones(6)))
torch._dynamo.config.recompile_limit = 8

torch._dynamo.reset()
fn(torch.ones(2))
with torch.compiler.set_stance('fail_on_recompile'):
    print(fn(torch.ones(2)))
    try:
        fn(torch.ones(3))
    except RuntimeError:
        print('a recompilation: an error')
with torch.compiler.set_stance('force_eager'):
    print('force_eager:', compiled_by(lambda: fn(torch.ones(2, 2))))
with torch.compiler.set_stance('eager_on_recompile'):
    print('eager_on_recompile:', compiled_by(lambda: fn(torch.ones(2, 2))))
