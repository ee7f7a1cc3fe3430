"""Compiled autograd: backward passes under its switches give the gradients that they give without them."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(10, 10)

    def forward(self, x):
        return self.linear(x)


model = Model()
x = torch.arange(10.0)

torch._dynamo.config.compiled_autograd = True


@torch.compile(backend='aot_eager')
def train(model, x):
    loss = model(x).sum()
    loss.backward()


train(model, x)
print(model.linear.weight.grad[0], model.linear.bias.grad)


def train_apart(model, x):
    model = torch.compile(model, backend='aot_eager')
    loss = model(x).sum()
    torch._dynamo.config.compiled_autograd = True
    torch.compile(lambda: loss.backward(), backend='aot_eager')()


train_apart(model, x)
print(model.linear.weight.grad[0])


def train_within(model, x):
    model = torch.compile(model, backend='aot_eager')
    loss = model(x).sum()
    with torch._dynamo.compiled_autograd._enable(torch.compile(fullgraph=True, backend='aot_eager')):
        loss.backward()


torch._dynamo.config.compiled_autograd = False
train_within(model, x)
print(model.linear.bias.grad)


@torch.compile(backend='aot_eager')
def fn(x):
    # 1st graph
    temp = x + 10
    torch._dynamo.graph_break()
    # 2nd graph
    temp = temp + 10
    torch._dynamo.graph_break()
    # 3rd graph
    return temp.sum()


x = torch.ones(3, 3, requires_grad=True)
torch._dynamo.utils.counters.clear()
loss = fn(x)
loss.backward(retain_graph=True)
assert torch._dynamo.utils.counters['stats']['unique_graphs'] == 3
torch._dynamo.utils.counters.clear()
print(x.grad)


@torch.compile(backend='aot_eager')
def summed(x):
    return x.sum()


x = torch.ones(2, 2, requires_grad=True)
x.register_hook(lambda grad: grad + 10)
loss = summed(x)
loss.backward()
print(x.grad)

torch._dynamo.config.compiled_autograd = True
x = torch.arange(1.0, 4.0, requires_grad=True)
for op in [torch.add, torch.sub, torch.mul, torch.div]:
    x.grad = None
    loss = op(x, x).sum()
    torch.compile(lambda: loss.backward(), backend='eager')()
    print(x.grad)
for i in [10, 100, 10]:
    x = torch.ones(i, i, requires_grad=True)
    loss = x.sum()
    torch.compile(lambda: loss.backward(), backend='eager')()
    print(x.grad.sum())
