"""Gradients of gradients, of parts, and on demand; functions with gradients of their own; hooks."""
import torch
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result
    @staticmethod
    def backward(ctx, grad_output):
        result, = ctx.saved_tensors
        return grad_output * result
class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None, scale=1.0):
        ctx.save_for_backward(input, weight, bias)
        ctx.scale = scale
        out = input.mm(weight.t()) * scale
        return out if bias is None else out + bias
    @staticmethod
    def backward(ctx, g):
        input, weight, bias = ctx.saved_tensors
        gi = gw = gb = None
        if ctx.needs_input_grad[0]: gi = g.mm(weight) * ctx.scale
        if ctx.needs_input_grad[1]: gw = g.t().mm(input) * ctx.scale
        if bias is not None and ctx.needs_input_grad[2]: gb = g.sum(0)
        return gi, gw, gb, None
x = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)
w = torch.tensor([[1., -1.]], requires_grad=True)
b = torch.zeros(1, requires_grad=True)
y = Linear.apply(x, w, b, 2.0)
print(y, y.grad_fn.name() if hasattr(y.grad_fn, 'name') else '')
y.sum().backward()
print(x.grad, w.grad, b.grad)
z = Exp.apply(torch.tensor([0., 1.], requires_grad=True))
print(z, z.requires_grad)
class STE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return torch.round(x)
    @staticmethod
    def backward(ctx, g): return g
v = torch.tensor([.4, 1.6], requires_grad=True)
(STE.apply(v) * torch.tensor([2., 3.])).sum().backward()
print(v.grad)
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b, a + b
    @staticmethod
    def backward(ctx, g1, g2):
        a, b = ctx.saved_tensors
        return g1 * b + g2, g1 * a + g2
p, q = torch.tensor(2., requires_grad=True), torch.tensor(5., requires_grad=True)
m, s = Two.apply(p, q)
print(m, s)
(m * 3 + s).backward()
print(p.grad, q.grad)
p.grad = None
m, s = Two.apply(p, q); m.backward(); print(p.grad)
@torch.compile
def f(x):
    y = x.sin()
    return Exp.apply(y) * 2
u = torch.tensor([.5], requires_grad=True)
o = f(u); o.sum().backward(); print(o, u.grad) if False else print(round(o.item(), 4), u.grad)
# double backward through
x = torch.tensor([1., 2.], requires_grad=True)
y = (x ** 3).sum()
g, = torch.autograd.grad(y, x, create_graph=True)
pen = (g.norm() - 1) ** 2
pen.backward()
print(x.grad)
print(torch.autograd.functional.jacobian(lambda a, b: a * b, (torch.tensor([1., 2.]), torch.tensor([3., 4.]))))
print(torch.autograd.functional.hessian(lambda a: (a ** 3).sum(), torch.tensor([1., 2.])))
print(torch.autograd.functional.vjp(lambda a: a.exp(), torch.zeros(2), torch.tensor([1., 2.])))
lin = torch.nn.Linear(2, 1)
with torch.no_grad(): lin.weight.fill_(1.); lin.bias.fill_(0.)
h = lin.weight.register_hook(lambda g: g * 10)
lin(torch.ones(1, 2)).sum().backward()
print(lin.weight.grad, lin.bias.grad)
h.remove(); lin.zero_grad(); lin(torch.ones(1, 2)).sum().backward(); print(lin.weight.grad)
log = []
hs = [lin.register_forward_pre_hook(lambda m, i: log.append('pre')), lin.register_forward_hook(lambda m, i, o: o + 1)]
print(lin(torch.ones(1, 2)).item(), log)
for k in hs: k.remove()
print(lin(torch.ones(1, 2)).item(), log)
a = torch.tensor([2., 3.], requires_grad=True)
b = torch.tensor([6., 4.], requires_grad=True)
Q = 3*a**3 - b**2
external_grad = torch.tensor([1., 1.])
Q.backward(gradient=external_grad)
print(a.grad, b.grad)
print(9*a**2 == a.grad)
print(-2*b == b.grad)
print(Q)
x = torch.ones(5)
y = torch.zeros(3)
w = torch.linspace(-1, 1, 15).reshape(5, 3).requires_grad_(True)
b = torch.zeros(3, requires_grad=True)
z = torch.matmul(x, w)+b
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
print(z, loss)
loss.backward()
print(w.grad)
print(b.grad)
z = torch.matmul(x, w)+b
print(z.requires_grad)
with torch.no_grad():
    z = torch.matmul(x, w)+b
print(z.requires_grad)
z = torch.matmul(x, w)+b
z_det = z.detach()
print(z_det.requires_grad)
inp = torch.eye(4, 5, requires_grad=True)
out = (inp+1).pow(2).t()
out.backward(torch.ones_like(out), retain_graph=True)
print(f"First call\n{inp.grad}")
out.backward(torch.ones_like(out), retain_graph=True)
print(f"\nSecond call\n{inp.grad}")
inp.grad.zero_()
out.backward(torch.ones_like(out), retain_graph=True)
print(f"\nCall after zeroing gradients\n{inp.grad}")
x = torch.tensor(3.0, requires_grad=True)
y = x**3
g, = torch.autograd.grad(y, x, create_graph=True)
print(g)
g2, = torch.autograd.grad(g, x)
print(g2)
print(torch.is_grad_enabled())
with torch.set_grad_enabled(False):
    print(torch.is_grad_enabled())
@torch.no_grad()
def f(v):
    return v * 2
print(f(x), f(x).requires_grad)
with torch.enable_grad():
    print((x*2).requires_grad)
try:
    torch.ones(3, requires_grad=True).backward()
except RuntimeError as e:
    print(e)
try:
    torch.ones(1).backward()
except RuntimeError as e:
    print(e)
try:
    t = torch.ones(3, requires_grad=True)
    t.add_(1)
except RuntimeError as e:
    print(e)
try:
    t = torch.arange(3)
    t.requires_grad_()
except RuntimeError as e:
    print(e)
x = torch.tensor([1., 2.], requires_grad=True)
y = x * 2
y.retain_grad()
y.sum().backward()
print(y.grad, y.is_leaf, x.is_leaf)
print(torch.autograd.grad((x**2).sum(), [x], allow_unused=True))
u = torch.ones(2, requires_grad=True)
print(torch.autograd.grad((x**2).sum(), [x, u], allow_unused=True))

# -- along a direction
from torch.autograd import functional as AF
from torch.func import grad, jvp
x, v = torch.tensor([0.5, 1.0]), torch.tensor([1.0, 2.0])
def show(*ts):
    print([[round(q, 4) + 0.0 for q in t.flatten().tolist()] for t in ts])
show(*jvp(torch.sin, (x,), (v,)))
show(*jvp(lambda a, b: a * b.sum(), (x, v), (v, x)))
o, t = jvp(lambda p: {'a': p['w'] ** 2, 'b': p['w'].sum()}, ({'w': x},), ({'w': v},))
show(o['a'], t['a'], o['b'], t['b'])
show(*jvp(grad(lambda a: (a ** 3).sum()), (x,), (v,)))
show(grad(lambda a: jvp(torch.sin, (a,), (v,))[1].sum())(x))
show(*jvp(lambda a: a.detach() * 2, (x,), (v,)))
o, t, aux = jvp(lambda a: (a * 2, a.sum()), (x,), (v,), has_aux=True)
show(o, t, aux)
show(*AF.jvp(lambda a: a ** 2, x, v))
show(*AF.hvp(lambda a: (a ** 3).sum(), x, v))
show(*AF.vhp(lambda a: (a ** 3).sum(), x, v))
print([[round(q, 3) for q in t.tolist()] for t in AF.jvp(lambda a, b: (a * b, a + b), (x, v), (v, x))[1]])
