"""Updates in place that gradients go through: what was computed before goes on with the values of then."""
import torch
import torch.nn as nn
import torch.nn.functional as F

w = torch.tensor([1., 2., 3.], requires_grad=True)


def show(*results):
    sum([r.sum() for r in results]).backward()
    print(w.grad)
    w.grad = None


y = w * 3
y += 1
show(y)
y = w * 3
y.mul_(5)
z = y.exp()
y.add_(w).mul_(2)
show(y, z)
y = w * 2
show(y.add_(w).mul_(w).mul_(0.1).sigmoid_())
y = w * 2
y.clamp_(max=5)
show(y.masked_fill_(y > 3, 0.))

out = torch.zeros(3)
for i in range(3):
    out[i] = w[i] ** 2
show(out)
y = w * 3
y[0] = 7.
show(y)
y = w * 3
y[0] += 5
y[1:] *= 2
y[0] *= 4
print(y)
show(y)
y = w * 3
y[torch.tensor([0, 2])] = w[1] * 7
show(y)
y = w * w
y[y > 3] = 0.
show(y)
grid = torch.zeros(2, 3)
grid[:, 1] = w[:2]
grid[0, 2] = w[2] * w[0]
show(grid ** 2)
y = w * 2
part = y[0:2]
part += w[1:]
y[0:2] = part  # what += stands for
y[1:3] = y[0:2].clone()
y[2] = y[1:2][None] * 2
show(y ** 2)
y = w * 2
y[1:] = y[:2] * 3
y[0:1] = y[2:]  # of another part that nothing has updated since
show(y ** 2)
states, h = [], torch.zeros(3)
for t in range(3):
    h = h.clone()
    h[t] = w[t] * 2 + h[t - 1]
    states.append(h)
show(torch.stack(states))

model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 4), nn.LeakyReLU(0.2, inplace=True), nn.Linear(4, 2))
with torch.no_grad():
    for i, p in enumerate(model.parameters()):
        p.copy_(((torch.arange(p.numel()) * 7 + i * 13) % 31 - 15).view_as(p) * 0.1)
show(model(w[None]))
print(model[0].weight.grad, F.relu(w * 2, inplace=True).grad_fn.name())

def set_first():
    w[0] = 1.


for wrong in (lambda: w.add_(1), set_first):
    try:
        wrong()
    except RuntimeError as error:
        print(error)
mean = torch.zeros(3, requires_grad=True)
mean.detach().mul_(0.5).add_(w, alpha=0.5)  # of which mean knows nothing
show(mean * w)
with torch.no_grad():
    w[0] = 5.
    w.add_(1)
print(w)

# What becomes a view of itself keeps its gradient; under no_grad() what is no leaf does, too.
x = torch.tensor([[0., 1., 2.], [3., 4., 5.]], requires_grad=True)
y = x * 2
before = y.sum()
y.label = 'y'
y.transpose_(0, 1).unsqueeze_(0)
y.squeeze_(0)
((y * y).sum() + before).backward()
print(y.shape, y.label, x.grad.tolist())


def turned(x):
    v = (x * 2)[:1]
    with torch.no_grad():
        v.transpose_(0, 1)
    return v


for f in (turned, torch.compile(turned)):
    x.grad = None
    v = f(x)
    (v * v).sum().backward()
    print(v.shape, v.requires_grad, v.is_leaf, x.grad.tolist())
try:
    x.t_()
except RuntimeError as error:
    print(error)

# What a view updates is another tensor now, of which nothing has been computed yet; a view learns of it when it is asked.
for of_view in (False, True):
    for late in (False, True):
        y = x * 2
        v = y[:1]
        kept, updated = (v, y) if of_view else (y, v)
        if not late:
            kept.retain_grad()
        loss = (kept + 1).sum()
        updated.mul_(3)
        if late:
            kept.retain_grad()
        loss.backward()
        print(of_view, late, kept.grad)
y = torch.zeros(3)
v, rest = y[:1], y[1:]
v.add_(w[:1])
print(y.requires_grad, y.is_leaf, rest.requires_grad, rest.is_leaf)
