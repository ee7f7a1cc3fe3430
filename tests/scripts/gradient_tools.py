"""What stands around gradients: hooks once they are added up, of some inputs alone, several at a time, checked by differences;
derivatives as functions, loops whose steps are functions, orthogonal weights, and draws from Poisson's distribution."""
import torch
import torch.nn as nn
from torch._higher_order_ops.while_loop import while_loop
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.scan import scan
from torch.nn.utils import parametrizations, parametrize

# -- an optimizer's step as soon as a gradient is there, which leaves no gradients behind
w, b = torch.ones(3, requires_grad=True), torch.zeros(3, requires_grad=True)
optimizers = {p: torch.optim.SGD([p], lr=0.5) for p in (w, b)}


def step(p):
    print('step', p.grad.tolist())
    optimizers[p].step()
    optimizers[p].zero_grad()


handles = [p.register_post_accumulate_grad_hook(step) for p in (w, b)]
for _ in range(2):
    (w * torch.tensor([1.0, 2.0, 3.0]) + b).sum().backward()
    print(w.grad, b.grad, w.tolist(), b.tolist())
handles[0].remove()
(w + b).sum().backward()
print(w.grad.tolist(), b.grad)
for x in (torch.ones(1), w * 2):
    try:
        x.register_post_accumulate_grad_hook(step)
    except RuntimeError as error:
        print(error)

# -- gradients of some, and of several rows at a time
u, v = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
for _ in range(2):
    (u * v).sum().backward(inputs=[u])
print(u.grad.tolist(), v.grad)
torch.autograd.backward([u * u, v * v], [torch.ones(2), torch.tensor([1.0, 2.0])], inputs=v)
print(u.grad.tolist(), v.grad.tolist())
print(torch.autograd.grad(u * v, (u, v), torch.eye(2), is_grads_batched=True))


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * ctx.factor * x ** 2, None


x = torch.tensor([0.5, -1.5], dtype=torch.float64, requires_grad=True)
print(torch.autograd.gradcheck(lambda x: Cube.apply(x, 3), (x,)), torch.autograd.gradgradcheck(lambda x: Cube.apply(x, 3), (x,)))
print(torch.autograd.gradcheck(lambda x: Cube.apply(x, 4), (x,), raise_exception=False))
try:
    torch.autograd.gradcheck(lambda x: Cube.apply(x, 4), (x,))
except RuntimeError as error:
    print(str(error).split('\n')[0])
print(torch.autograd.gradcheck(lambda a, b: (a @ b, a.sum()), (x.detach().reshape(1, 2).requires_grad_(), torch.eye(2).double())))

# -- derivatives as functions
out, along = torch.func.linearize(lambda x: x * x, torch.tensor([1.0, 2.0]))
print(out.tolist(), along(torch.tensor([1.0, 0.0])).tolist(), along(torch.tensor([0.0, 3.0])).tolist())

# -- loops
print(while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2))))
steps = torch.arange(6.0).reshape(3, 2)
print(scan(lambda carried, x: (carried + x, carried * x), torch.ones(2), steps, dim=0))
print(scan(lambda carried, x: (carried + x['a'], {'b': carried - x['a']}), torch.ones(2), {'a': steps}, dim=0, reverse=True))
for reverse in (False, True):
    print(associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (steps, steps + 1), 0, reverse=reverse, combine_mode='generic'))

# -- orthogonal weights
for rows, columns in ((3, 3), (5, 2), (2, 4)):
    for orthogonal_map in ('matrix_exp', 'cayley', 'householder', None):
        m = parametrizations.orthogonal(nn.Linear(columns, rows), orthogonal_map=orthogonal_map)
        with torch.no_grad():
            m.parametrizations.weight.original.add_(torch.arange(float(rows * columns)).sin().reshape(rows, columns) * 0.1)
        if orthogonal_map == 'householder' or (orthogonal_map is None and rows != columns):
            with torch.no_grad():
                m.parametrizations.weight.original.diagonal().fill_(-1.0)
        weight = m.weight if rows < columns else m.weight.T
        print(list(m.state_dict()), (weight @ weight.T - torch.eye(min(rows, columns))).abs().max().item() < 1e-5)
        m(torch.ones(1, columns)).sum().backward()
        print(list(m.parametrizations.weight.original.grad.shape))
m = parametrizations.orthogonal(nn.Linear(2, 2))
turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
m.weight = turn
print((m.weight - turn).abs().max().item() < 1e-6)
parametrize.remove_parametrizations(m, 'weight')
print([name for name, _ in m.named_parameters()])

# -- draws
torch.manual_seed(0)
rates = torch.tensor([0.0, 0.5, 4.0, 9.5, 12.0, 300.0])
drawn = torch.poisson(rates.expand(2000, 6))
print(drawn.dtype, list(drawn.shape), (drawn == drawn.floor()).all().item(), (drawn >= 0).all().item(), drawn[:, 0].sum().item())
print(((drawn.mean(0) - rates).abs() <= 5 * (rates / 2000).sqrt()).tolist())
print(((drawn.var(0) / rates.clamp(min=1e-9) - 1).abs()[1:] < 0.2).tolist())
g = torch.Generator().manual_seed(3)
first = torch.poisson(rates, generator=g)
print((first == torch.poisson(rates, generator=torch.Generator().manual_seed(3))).all().item())
print(torch.distributions.Poisson(torch.tensor([2.0, 30.0])).sample((3,)).shape)

# -- of what has no gradient, zeros; a batch of what has names
x = torch.tensor([[3.0, 1.0, 2.0], [0.5, -1.0, 4.0]])
print(torch.func.grad(lambda x: (x > 1).float().sum())(x), torch.func.grad(lambda x: torch.ones_like(x).sum())(x[0]))
found = torch.func.vmap(lambda x: torch.topk(x, 2))(x)
print(found.values, found.indices, torch.func.vmap(lambda x: x.max(0), out_dims=0)(x)[1], torch.func.vmap(torch.aminmax)(x)[0])
