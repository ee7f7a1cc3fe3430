"""torch.optim.swa_utils: averages of a module's parameters along its training, and rates that go to a constant one."""
import copy
import math

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LRScheduler
from _warpsmith import buffer


def get_ema_avg_fn(decay=0.999):
    return lambda averaged, current, n: decay * averaged + (1 - decay) * current


def get_swa_avg_fn():
    return lambda averaged, current, n: averaged + (current - averaged) / (n + 1)


def get_ema_multi_avg_fn(decay=0.999):
    def update(averaged, current, n):
        for x, y in zip(averaged, current):
            x.lerp_(y, 1 - decay)
    return update


def get_swa_multi_avg_fn():
    def update(averaged, current, n):
        for x, y in zip(averaged, current):
            x.lerp_(y, 1 / (n + 1))
    return update


class AveragedModel(nn.Module):
    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError('Only one of avg_fn and multi_avg_fn should be provided')
        self.module = copy.deepcopy(model)
        self.n_averaged = buffer(torch.tensor(0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, module):
        return list(module.parameters()) + (list(module.buffers()) if self.use_buffers else [])

    def update_parameters(self, model):
        n, pairs = int(self.n_averaged), list(zip(self._averaged(self.module), self._averaged(model)))
        with torch.no_grad():
            if n == 0:
                for x, y in pairs:
                    x.copy_(y)
            elif self.multi_avg_fn is not None:
                floats = [(x, y) for x, y in pairs if x.is_floating_point()]
                self.multi_avg_fn([x for x, _ in floats], [y for _, y in floats], n)
            else:
                average = self.avg_fn or get_swa_avg_fn()
                for x, y in pairs:
                    x.copy_(average(x, y, n))
            if not self.use_buffers:
                for x, y in zip(self.module.buffers(), model.buffers()):
                    x.copy_(y)
            self.n_averaged += 1


def update_bn(loader, model, device=None):
    """Statistics of batches anew, each batch as much as any other."""
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    momenta, training = [m.momentum for m in norms], model.training
    if not norms:
        return
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
    model.train()
    with torch.no_grad():
        for batch in loader:
            batch = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(batch if device is None else batch.to(device))
    for m, momentum in zip(norms, momenta):
        m.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy='cos', last_epoch=-1):
        rates = swa_lr if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(optimizer.param_groups)
        for rate, group in zip(rates, optimizer.param_groups):
            group['swa_lr'] = rate
        if anneal_strategy not in ('cos', 'linear'):
            raise ValueError(f"anneal_strategy must by one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _share(self, step):
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self.anneal_strategy == 'cos' else t

    def get_lr(self):
        step = max(1, self.last_epoch) if self.anneal_epochs == 0 else self.last_epoch
        before, now, found = self._share(step - 1), self._share(step), []
        for group in self.optimizer.param_groups:
            to = group['swa_lr']
            start = to if before == 1 else (group['lr'] - before * to) / (1 - before)
            found.append(to * now + start * (1 - now))
        return found
