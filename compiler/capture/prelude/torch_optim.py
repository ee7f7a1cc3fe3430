"""torch.optim: steps that change parameters in place, outside compiled functions."""
import math

import torch


class Optimizer:
    def __init__(self, params, defaults):
        groups = list(params)
        if not groups:
            raise ValueError('optimizer got an empty parameter list')
        if not isinstance(groups[0], dict):
            groups = [{'params': groups}]
        self.defaults, self.param_groups, self.state = defaults, [], []
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, group):
        group = {**self.defaults, **group}
        params = group['params']
        group['params'] = [params] if isinstance(params, torch.Tensor) else list(params)
        self.param_groups.append(group)
        self.state.append([{} for _ in group['params']])

    def zero_grad(self, set_to_none=True):
        for group in self.param_groups:
            for p in group['params']:
                p.grad = None

    def step(self, closure=None):
        loss = None if closure is None else closure()
        with torch.no_grad():
            for group, states in zip(self.param_groups, self.state):
                for p, state in zip(group['params'], states):
                    if p.grad is not None:
                        self.update(p, p.grad, group, state)
        return loss


class SGD(Optimizer):
    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, **options):
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov))

    def update(self, p, grad, group, state):
        if group['weight_decay']:
            grad = grad + group['weight_decay'] * p
        momentum = group['momentum']
        if momentum:
            buf = state.get('momentum_buffer')
            buf = grad if buf is None else momentum * buf + (1 - group['dampening']) * grad
            state['momentum_buffer'] = buf
            grad = grad + momentum * buf if group['nesterov'] else buf
        p -= group['lr'] * grad


class Adam(Optimizer):
    decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, **options):
        if amsgrad:
            raise NotImplementedError('amsgrad is not supported')
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    def update(self, p, grad, group, state):
        lr, decay = group['lr'], group['weight_decay']
        if decay and self.decoupled:
            p *= 1 - lr * decay
        elif decay:
            grad = grad + decay * p
        b1, b2 = group['betas']
        n = state['step'] = state.get('step', 0) + 1
        if n == 1:
            state['exp_avg'], state['exp_avg_sq'] = torch.zeros_like(p), torch.zeros_like(p)
        m = state['exp_avg'] = b1 * state['exp_avg'] + (1 - b1) * grad
        v = state['exp_avg_sq'] = b2 * state['exp_avg_sq'] + (1 - b2) * grad * grad
        p -= lr / (1 - b1 ** n) * m / (v.sqrt() / math.sqrt(1 - b2 ** n) + group['eps'])


class AdamW(Adam):
    decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, **options):
        super().__init__(params, lr, betas, eps, weight_decay, **options)
