"""Every optimizer and schedule of a rate, a few steps each."""
import torch, torch.nn as nn
import torch.optim as optim
from torch.optim import lr_scheduler
def fresh():
    m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    with torch.no_grad():
        for i, p in enumerate(m.parameters()):
            p.copy_(torch.cos(torch.arange(p.numel()).float() + i).reshape(p.shape))
    return m
x = torch.linspace(-1, 1, 15).reshape(5, 3)
y = x.sum(1, keepdim=True)
def run(name, make, sched=None):
    m = fresh()
    o = make(m.parameters())
    s = sched(o) if sched else None
    for _ in range(4):
        o.zero_grad(set_to_none=True)
        l = nn.functional.mse_loss(m(x), y)
        l.backward()
        n = torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        o.step()
        if s: s.step()
    print(name, round(l.item(), 4), round(n.item(), 4), [round(v, 4) for v in m[0].weight[0].tolist()], f"{o.param_groups[0]['lr']:.6f}", round(s.get_last_lr()[0], 6) if s else '')
run('sgd', lambda p: optim.SGD(p, lr=.1))
run('mom', lambda p: optim.SGD(p, lr=.1, momentum=.9))
run('nest', lambda p: optim.SGD(p, lr=.1, momentum=.9, nesterov=True, weight_decay=1e-2))
run('adam', lambda p: optim.Adam(p, lr=.1, betas=(.8, .99), eps=1e-6))
run('amsgrad', lambda p: optim.Adam(p, lr=.1, amsgrad=True, weight_decay=.1))
run('adamw', lambda p: optim.AdamW(p, lr=.1, weight_decay=.1))
run('rms', lambda p: optim.RMSprop(p, lr=.01, alpha=.9, momentum=.5, centered=True))
run('adagrad', lambda p: optim.Adagrad(p, lr=.1))
run('adamax', lambda p: optim.Adamax(p, lr=.1))
run('rprop', lambda p: optim.Rprop(p, lr=.1))
run('adadelta', lambda p: optim.Adadelta(p, lr=1.0))
run('nadam', lambda p: optim.NAdam(p, lr=.1))
run('radam', lambda p: optim.RAdam(p, lr=.1))
run('step', lambda p: optim.SGD(p, lr=.1), lambda o: lr_scheduler.StepLR(o, step_size=2, gamma=.1))
run('multi', lambda p: optim.SGD(p, lr=.1), lambda o: lr_scheduler.MultiStepLR(o, milestones=[1, 3], gamma=.5))
run('cos', lambda p: optim.SGD(p, lr=.1), lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=10, eta_min=1e-3))
run('lam', lambda p: optim.SGD(p, lr=.1), lambda o: lr_scheduler.LambdaLR(o, lr_lambda=lambda e: 0.95 ** e))
run('exp', lambda p: optim.SGD(p, lr=.1), lambda o: lr_scheduler.ExponentialLR(o, gamma=.9))
run('onecycle', lambda p: optim.SGD(p, lr=.1, momentum=.9), lambda o: lr_scheduler.OneCycleLR(o, max_lr=.5, total_steps=10))
run('linear', lambda p: optim.SGD(p, lr=.1), lambda o: lr_scheduler.LinearLR(o, start_factor=.5, total_iters=3))
run('seq', lambda p: optim.SGD(p, lr=.1), lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o, factor=.1, total_iters=2), lr_scheduler.ExponentialLR(o, gamma=.9)], milestones=[2]))
run('warm', lambda p: optim.SGD(p, lr=.1), lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=3))
run('cyc', lambda p: optim.SGD(p, lr=.1, momentum=.9), lambda o: lr_scheduler.CyclicLR(o, base_lr=.01, max_lr=.1, step_size_up=3))
m = fresh()
o = optim.AdamW([{'params': m[0].parameters(), 'lr': 1e-2}, {'params': m[2].parameters(), 'weight_decay': 0.0}], lr=1e-3)
for g in o.param_groups:
    print(len(g['params']), g['lr'], g['weight_decay'])
p = lr_scheduler.ReduceLROnPlateau(optim.SGD(m.parameters(), lr=.1), patience=1, factor=.5)
for v in [1, 1, 1, 1, 1]:
    p.step(v)
print(p.optimizer.param_groups[0]['lr'])
m = nn.Linear(3, 1).double()
with torch.no_grad():
    m.weight.fill_(.1)
    m.bias.zero_()
x = (torch.arange(12.).reshape(4, 3) * 7 % 5).double()
y = torch.tensor([[1.], [0.], [2.], [1.]]).double()
o = optim.LBFGS(m.parameters(), lr=0.8, max_iter=5)
def closure():
    o.zero_grad()
    loss = nn.functional.mse_loss(m(x).tanh(), y)
    print(f'{loss.item():.6f}', end=' ')
    loss.backward()
    return loss
print(o.step(closure).item() > o.step(closure).item())
for options in ({}, {'lr': 0.1, 'history_size': 3}, {'lr': 30.0, 'max_iter': 7}):
    with torch.no_grad():
        m.weight.fill_(.1)
        m.bias.zero_()
    o = optim.LBFGS(m.parameters(), line_search_fn='strong_wolfe', **options)
    print(o.step(closure).item() > o.step(closure).item(), o.state[m.weight]['n_iter'], o.state[m.weight]['func_evals'])


# -- one call for lists of tensors, and scales that are tensors
parameters, grads = [torch.tensor([1.0, -2.0]), torch.tensor([[3.0]])], [torch.tensor([0.5, 4.0]), torch.tensor([[2.0]])]
print(torch._foreach_add(parameters, grads, alpha=2), torch._foreach_mul(parameters, [2.0, 3.0]), torch._foreach_sqrt(grads))
torch._foreach_mul_(parameters, 0.5)
torch._foreach_lerp_(parameters, grads, 0.25)
torch._foreach_addcmul_(parameters, grads, grads, 0.1)
torch._foreach_addcdiv_(parameters, grads, torch._foreach_add(grads, 1.0), scalars=[1.0, 2.0])
torch._foreach_copy_(grads, torch._foreach_maximum(grads, 1.0))
print(parameters, grads, torch._foreach_norm(grads), torch._foreach_clamp_min(parameters, 1.0))
torch._foreach_zero_(grads)
print(grads)
scale = torch.tensor(3.0)
for f in (lambda x: x.add(x, alpha=-scale), lambda x: torch.sub(x, 1.0, alpha=scale), lambda x: x.addcmul(x, x, value=scale), lambda x: x.clone().add_(x, alpha=scale * 2)):
    print(f(parameters[0]), torch.compile(f)(parameters[0]))
print(torch.zeros(2).to(bool), torch.ones(2).to(int), torch.ones(1).to(float), torch.randint(high=1, size=(2,)), torch.randint_like(torch.ones(2), high=1))
