"""Hooks of modules' gradients; layers that their first input makes; objects that become another class's."""
import torch
import torch.nn as nn


def filled(m):
    with torch.no_grad():
        for i, p in enumerate(m.parameters()):
            p.copy_(torch.linspace(-0.3, 0.4 + 0.1 * i, p.numel()).reshape(p.shape))
    return m


def lists(grads):
    return [None if g is None else [round(v, 4) for v in g.flatten().tolist()] for g in grads]


# -- each sees what comes and goes, in order, and may change it
m = filled(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
handles = [m[2].register_full_backward_hook(lambda mod, gi, go: print('last', lists(gi), lists(go))),
           m[0].register_full_backward_hook(lambda mod, gi, go: print('first', gi, lists(go))),
           m[1].register_full_backward_pre_hook(lambda mod, go: (go[0] * 2,)),
           m[1].register_full_backward_hook(lambda mod, gi, go: (gi[0] + 1,))]
m(torch.ones(2, 3)).sum().backward()
print(lists([m[0].weight.grad]))
for handle in handles:
    handle.remove()
m.zero_grad()
m(torch.ones(2, 3)).sum().backward()
print(lists([m[0].weight.grad]))
m = nn.Sequential(m[0], nn.ReLU())
m[1].register_backward_hook(lambda mod, gi, go: print('of old', lists(go)))
try:
    m[1].register_full_backward_hook(print)
except RuntimeError as error:
    print(str(error)[:40])
m(torch.ones(2, 3)).sum().backward()
with torch.no_grad():
    print(m(torch.ones(1, 3)).requires_grad)

# -- of several results, of which some are not used; beside hooks of forward
lstm = filled(nn.LSTM(3, 2))
lstm.register_full_backward_hook(lambda mod, gi, go: print(lists(gi), [None if g is None else g.shape for g in go]))
x = torch.ones(2, 1, 3, requires_grad=True)
lstm(x)[0].sum().backward()
print(lists([x.grad]))


class GradCAM:
    def __init__(self, model, layer):
        self.model = model
        layer.register_forward_hook(self.keep)
        layer.register_full_backward_hook(self.keep_gradient)

    def keep(self, module, inputs, out):
        self.activation = out.detach()

    def keep_gradient(self, module, grad_in, grad_out):
        self.gradient = grad_out[0].detach()

    def __call__(self, x, target):
        scores = self.model(x)
        self.model.zero_grad()
        scores[:, target].sum().backward()
        return torch.relu((self.gradient.mean(dim=(2, 3), keepdim=True) * self.activation).sum(1))


net = filled(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Conv2d(2, 2, 3), nn.Flatten(), nn.Linear(8, 3)))
print(lists([GradCAM(net, net[2])(torch.arange(36.0).reshape(1, 1, 6, 6) / 36, 1)]))

# -- sizes from the first input
net = nn.Sequential(nn.LazyConv2d(4, 3, padding=1), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(6), nn.LazyLinear(2, bias=False))
print(net[0], net[3], net[3].has_uninitialized_params())
net(torch.ones(2, 3, 4, 4))
print(net[0], net[3], [type(layer).__name__ for layer in net])
optimizer = torch.optim.SGD(filled(net).parameters(), lr=0.001)
for _ in range(2):
    optimizer.zero_grad()
    loss = net(torch.arange(96.0).reshape(2, 3, 4, 4) / 96).square().mean()
    loss.backward()
    optimizer.step()
    print(round(loss.item(), 4))
print(nn.LazyLinear(3).double()(torch.ones(2, 5, dtype=torch.float64)).dtype, nn.LazyConv1d(2, 3)(torch.ones(3, 5)).shape)
try:
    nn.LazyLinear(3).weight.shape
except RuntimeError as error:
    print(str(error)[:60])

# -- classes of few, frequent classes
m = filled(nn.AdaptiveLogSoftmaxWithLoss(6, 20, cutoffs=[4, 9], div_value=2.0))
x, y = torch.arange(30.0).cos().reshape(5, 6).requires_grad_(), torch.tensor([0, 3, 5, 12, 19])
out = m(x, y)
out.loss.backward()
print(lists([out.output, out.loss, x.grad[:2], m.log_prob(x)[1]]), m.predict(x))
print(lists(m(x[0], y[0])), m.tail[1][0].weight.grad.abs().sum() > 0)


# -- a layer that becomes one of a class made from its own
class Doubled(nn.Linear):
    def forward(self, x):
        return super().forward(x) * 2


m = filled(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
f = torch.compile(m)
print(lists([f(torch.ones(1, 2))]))
m[0].__class__ = Doubled
print(lists([f(torch.ones(1, 2))]), m[0], isinstance(m[0], Doubled))
for wrong in (3, int):
    try:
        m[0].__class__ = wrong
    except TypeError as error:
        print(error)


# -- hooks belong to the call: forward() that is called by its name has none, and one that is put there later has them

plain = nn.Linear(2, 2)
plain.register_forward_hook(lambda module, args, out: print('called') or out * 0)
print(plain.forward(torch.ones(1, 2)).abs().sum().item() > 0, plain(torch.ones(1, 2)).abs().sum().item())
plain.forward = lambda x: x + 1
print(plain(torch.ones(1, 2)).tolist())


class Doubled(nn.Linear):
    def __call__(self, x):
        return super().__call__(x) * 0 + 2


double = Doubled(2, 2)
double.register_forward_pre_hook(lambda module, args: print('before'))
print(double(torch.ones(1, 2)).tolist())
