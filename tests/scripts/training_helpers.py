"""What training loops take from beside the optimizers: averages of weights, pruning, quantization that is played, samplers,
traces and profilers."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import prune
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn


def filled(m):
    with torch.no_grad():
        for i, p in enumerate(m.parameters()):
            p.copy_((torch.arange(float(p.numel())) * (1 + i) * 0.7).sin().view(p.shape) * 0.4)
    return m


def shown(*tensors):
    print(*[[round(v, 4) + 0.0 for v in t.detach().flatten().tolist()] for t in tensors])


x, y = torch.arange(24.0).reshape(4, 6).sin(), torch.tensor([0, 1, 2, 1])

# -- averages
m = filled(nn.Sequential(nn.Linear(6, 3), nn.BatchNorm1d(3)))
average, optimizer = AveragedModel(m), torch.optim.SGD(m.parameters(), 0.1)
schedule = SWALR(optimizer, swa_lr=0.05, anneal_epochs=3)
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(m(x), y).backward()
    optimizer.step()
    average.update_parameters(m)
    schedule.step()
    print(round(optimizer.param_groups[0]['lr'], 5), end=' ')
update_bn([(x, y), x[:3]], average)
shown(average(x)[0], average.module[1].running_var, average.n_averaged)
for options in ({'multi_avg_fn': get_ema_multi_avg_fn(0.9)}, {'avg_fn': lambda a, b, n: (a + b) / 2, 'use_buffers': True}):
    m = filled(nn.BatchNorm1d(3))
    average = AveragedModel(m, **options)
    for scale in (1, 2, 3):
        m.weight.data.mul_(scale)
        m.running_mean.add_(scale)
        average.update_parameters(m)
    shown(average.module.weight, average.module.running_mean)

# -- pruning, and again
m = filled(nn.Sequential(nn.Linear(6, 3), nn.Linear(3, 2)))
for amount in (0.5, 3):
    prune.l1_unstructured(m[0], 'weight', amount=amount)
    shown(m[0].weight_mask)
prune.ln_structured(m[1], 'weight', amount=1, n=2, dim=1)
print([name for name, _ in m.named_parameters()], [name for name, _ in m.named_buffers()], prune.is_pruned(m))
m(x).sum().backward()
shown(m[0].weight_orig.grad, m[1].weight)
prune.remove(m[0], 'weight')
prune.remove(m[1], 'weight')
print([name for name, _ in m.named_parameters()], prune.is_pruned(m))
m = filled(nn.Sequential(nn.Linear(6, 3), nn.Linear(3, 2)))
prune.global_unstructured([(m[0], 'weight'), (m[1], 'weight')], pruning_method=prune.L1Unstructured, amount=0.4)
shown(m[0].weight_mask, m[1].weight_mask)
prune.random_unstructured(m[1], 'bias', amount=1)
prune.custom_from_mask(m[0], 'bias', torch.tensor([1, 0, 1]))
print(m[1].bias_mask.sum().item(), m[0].bias[1].item())
try:
    prune.l1_unstructured(m[0], 'weight', amount=100)
except ValueError as error:
    print('refused')

# -- values of 8 bits, with the gradients of those in range
q = (x * 2).requires_grad_()
a = torch.fake_quantize_per_tensor_affine(q, 0.1, 3, -8, 7)
b = torch.fake_quantize_per_channel_affine(q, torch.tensor([0.1, 0.2, 0.5, 1.0]), torch.tensor([0, 1, 0, 2], dtype=torch.int32), 0, -4, 3)
(a + b * 2).sum().backward()
shown(a[0], b[1], q.grad)

# -- draws, traces, profilers
from torch.utils.data import WeightedRandomSampler

sampler = WeightedRandomSampler([0.0, 1.0, 0.0, 3.0], 20)
print(len(sampler), sorted(set(sampler)))
m = filled(nn.Linear(6, 3)).eval()
traced = torch.jit.trace(m, x)
print(torch.equal(traced(x), m(x)), torch.equal(torch.jit.freeze(torch.jit.script(m))(x), m(x)))
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
    m(x)
    profiler.step()
m = filled(nn.Linear(6, 3))
optimizer = torch.optim.ASGD(m.parameters(), lr=0.05, t0=1, lambd=0.01)
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(m(x), y).backward()
    optimizer.step()
shown(m.bias, optimizer.state[m.bias]['ax'])
