"""torch.optim: steps that change parameters in place, outside compiled functions."""
import math

import torch
from collections import defaultdict
from torch.nn import _parts_of
from _warpsmith import refuse


class Optimizer:
    """state is a dict for each parameter; a class that derives from this has update(), or a step() of its own."""

    def __init__(self, params, defaults):
        groups = [params] if isinstance(params, dict) else list(params)
        if isinstance(params, torch.Tensor):
            raise TypeError('params argument given to the optimizer should be an iterable of Tensors or dicts, but got '
                            'torch.FloatTensor')
        if not groups:
            raise ValueError('optimizer got an empty parameter list')
        if not isinstance(groups[0], dict):
            groups = [{'params': groups}]
        self.defaults, self.param_groups, self.state = defaults, [], defaultdict(dict)
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, group):
        params = group['params']
        params = [params] if isinstance(params, torch.Tensor) else list(params)
        if any([isinstance(p, torch.nn.UninitializedParameter) for p in params]):
            refuse('an optimizer of a parameter that a lazy module has not made yet is not supported; call the module before')
        params = _parts_of(params)
        self.param_groups.append({**group, 'params': params, **{k: v for k, v in self.defaults.items() if k not in group}})

    def zero_grad(self, set_to_none=True):
        for group in self.param_groups:
            for p in group['params']:
                if set_to_none or p.grad is None:
                    p.grad = None
                else:
                    p.grad = torch.zeros_like(p.grad)

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                for p in group['params']:
                    if p.grad is not None:
                        self._ws_update(p, -p.grad if group.get('maximize') else p.grad, group, self.state[p])
        return loss

    def _ws_numbers(self):
        """id of each parameter -> its number in state_dict()."""
        flat = [p for group in self.param_groups for p in group['params']]
        return {id(p): i for i, p in enumerate(flat)}, flat

    def state_dict(self):
        numbers, flat = self._ws_numbers()
        groups = [{**{k: v for k, v in group.items() if k != 'params'}, 'params': [numbers[id(p)] for p in group['params']]}
                  for group in self.param_groups]
        return {'state': {i: dict(self.state[p]) for i, p in enumerate(flat) if p in self.state and self.state[p]},
                'param_groups': groups}

    def load_state_dict(self, state_dict):
        groups = state_dict['param_groups']
        if len(groups) != len(self.param_groups):
            raise ValueError('loaded state dict has a different number of parameter groups')
        for own, group in zip(self.param_groups, groups):
            if len(own['params']) != len(group['params']):
                raise ValueError("loaded state dict contains a parameter group that doesn't match the size of "
                                 "optimizer's group")
            own.update({k: v for k, v in group.items() if k != 'params'})
        _, flat = self._ws_numbers()
        self.state = defaultdict(dict)
        for i, entries in state_dict['state'].items():
            self.state[flat[i]] = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in entries.items()}

    def __repr__(self):
        text = type(self).__name__ + ' ('
        for i, group in enumerate(self.param_groups):
            text += f'\nParameter Group {i}\n' + ''.join(
                [f'    {key}: {group[key]}\n' for key in sorted(group) if key != 'params'])
        return text + ')'


class SGD(Optimizer):
    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *,
                 maximize=False, foreach=None, differentiable=False, fused=None):
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError('Nesterov momentum requires a momentum and zero dampening')
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize, foreach=foreach,
                                      differentiable=differentiable, fused=fused))

    def _ws_update(self, p, grad, group, state):
        if group['weight_decay']:
            grad = grad + group['weight_decay'] * p
        momentum = group['momentum']
        if momentum:
            buf = state.get('momentum_buffer')
            buf = grad if buf is None else momentum * buf + (1 - group['dampening']) * grad
            state['momentum_buffer'] = buf
            grad = grad + momentum * buf if group['nesterov'] else buf
        p -= group['lr'] * grad


def _decayed(p, grad, group):
    """The gradient with its decay; or p decays by itself, and the gradient is as it was."""
    decay = group['weight_decay']
    if decay and group.get('decoupled_weight_decay'):
        p *= 1 - group['lr'] * decay
        return grad
    return grad + decay * p if decay else grad


def _fresh(p, state, *names):
    """Moments of zeros at the first step; the number of this one."""
    if not state:
        for name in names:
            state[name] = torch.zeros_like(p)
        state['step'] = 0
    state['step'] += 1
    return state['step']


def _moments(p, grad, group, state):
    """The number of the step, and the running means of the gradient and of its square."""
    b1, b2 = group['betas']
    n = _fresh(p, state, 'exp_avg', 'exp_avg_sq')
    m = state['exp_avg'] = b1 * state['exp_avg'] + (1 - b1) * grad
    v = state['exp_avg_sq'] = b2 * state['exp_avg_sq'] + (1 - b2) * grad * grad
    return n, m, v


class Adam(Optimizer):
    _ws_decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        if not 0 <= lr:
            raise ValueError(f'Invalid learning rate: {lr}')
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize, foreach=foreach, capturable=capturable,
                                      differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay or self._ws_decoupled))

    def _ws_update(self, p, grad, group, state):
        lr, (b1, b2) = group['lr'], group['betas']
        n, m, v = _moments(p, _decayed(p, grad, group), group, state)
        if group['amsgrad']:
            v = state['max_exp_avg_sq'] = torch.maximum(state.get('max_exp_avg_sq', v), v)
        p -= lr / (1 - b1 ** n) * m / (v.sqrt() / math.sqrt(1 - b2 ** n) + group['eps'])


class AdamW(Adam):
    _ws_decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
                 foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, foreach=foreach,
                         capturable=capturable, differentiable=differentiable, fused=fused)


class NAdam(Optimizer):
    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, **options):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
                                      momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay,
                                      **options))

    def _ws_update(self, p, grad, group, state):
        lr, (b1, b2) = group['lr'], group['betas']
        grad = _decayed(p, grad, group)
        n, m, v = _moments(p, grad, group, state)
        mu, after = [b1 * (1 - 0.5 * 0.96 ** (k * group['momentum_decay'])) for k in (n, n + 1)]
        product = state['mu_product'] = state.get('mu_product', 1.0) * mu
        below = (v / (1 - b2 ** n)).sqrt() + group['eps']
        p -= lr * (1 - mu) / (1 - product) * grad / below
        p -= lr * after / (1 - product * after) * m / below


class RAdam(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False,
                 **options):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
                                      decoupled_weight_decay=decoupled_weight_decay, **options))

    def _ws_update(self, p, grad, group, state):
        lr, (b1, b2) = group['lr'], group['betas']
        n, m, v = _moments(p, _decayed(p, grad, group), group, state)
        most = 2 / (1 - b2) - 1
        length = most - 2 * n * b2 ** n / (1 - b2 ** n)
        step = lr * m / (1 - b1 ** n)
        if length > 5:
            rectify = math.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
            step = step * rectify * math.sqrt(1 - b2 ** n) / (v.sqrt() + group['eps'])
        p -= step


class Adamax(Optimizer):
    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, **options):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **options))

    def _ws_update(self, p, grad, group, state):
        b1, b2 = group['betas']
        grad = _decayed(p, grad, group)
        n = _fresh(p, state, 'exp_avg', 'exp_inf')
        m = state['exp_avg'] = b1 * state['exp_avg'] + (1 - b1) * grad
        largest = state['exp_inf'] = torch.maximum(b2 * state['exp_inf'], grad.abs() + group['eps'])
        p -= group['lr'] / (1 - b1 ** n) * m / largest


class Rprop(Optimizer):
    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), **options):
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, **options))

    def _ws_update(self, p, grad, group, state):
        if not state:
            state.update(step=0, prev=torch.zeros_like(p), step_size=torch.full_like(p, group['lr']))
        state['step'] += 1
        less, more = group['etas']
        least, most = group['step_sizes']
        turned = grad * state['prev']
        factor = torch.where(turned > 0, more, torch.where(turned < 0, less, 1.0))
        size = state['step_size'] = (state['step_size'] * factor).clamp(least, most)
        grad = state['prev'] = torch.where(turned < 0, 0.0, grad)
        p -= grad.sign() * size


class RMSprop(Optimizer):
    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, **options):
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
                                      weight_decay=weight_decay, **options))

    def _ws_update(self, p, grad, group, state):
        a = group['alpha']
        grad = _decayed(p, grad, group)
        _fresh(p, state, 'square_avg', 'momentum_buffer', 'grad_avg')
        v = state['square_avg'] = a * state['square_avg'] + (1 - a) * grad * grad
        if group['centered']:
            mean = state['grad_avg'] = a * state['grad_avg'] + (1 - a) * grad
            v = v - mean * mean
        step = grad / (v.sqrt() + group['eps'])
        if group['momentum']:
            step = state['momentum_buffer'] = group['momentum'] * state['momentum_buffer'] + step
        p -= group['lr'] * step


class Adagrad(Optimizer):
    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, **options):
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, **options))

    def _ws_update(self, p, grad, group, state):
        grad = _decayed(p, grad, group)
        n = _fresh(p, state, 'sum')
        if n == 1:
            state['sum'] = state['sum'] + group['initial_accumulator_value']
        total = state['sum'] = state['sum'] + grad * grad
        p -= group['lr'] / (1 + (n - 1) * group['lr_decay']) * grad / (total.sqrt() + group['eps'])


class Adadelta(Optimizer):
    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, **options):
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, **options))

    def _ws_update(self, p, grad, group, state):
        rho, eps = group['rho'], group['eps']
        grad = _decayed(p, grad, group)
        _fresh(p, state, 'square_avg', 'acc_delta')
        v = state['square_avg'] = rho * state['square_avg'] + (1 - rho) * grad * grad
        step = (state['acc_delta'] + eps).sqrt() / (v + eps).sqrt() * grad
        state['acc_delta'] = rho * state['acc_delta'] + (1 - rho) * step * step
        p -= group['lr'] * step


class ASGD(Optimizer):
    """state['ax'] is the average of the steps from t0 on."""

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, **options):
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, **options))

    def _ws_update(self, p, grad, group, state):
        grad = _decayed(p, grad, group)
        n = _fresh(p, state, 'ax')
        eta, mu = state.get('eta', group['lr']), state.get('mu', 1.0)
        p.mul_(1 - group['lambd'] * eta)
        p -= eta * grad
        state['ax'] = p.clone() if mu == 1 else state['ax'] + (p - state['ax']) * mu
        state['eta'] = group['lr'] / (1 + group['lambd'] * group['lr'] * n) ** group['alpha']
        state['mu'] = 1 / max(1, n - group['t0'])


def _cubic_minimum(a, b, bounds):
    """Where the cubic through (t, f, f') of a and b is least, within bounds (Nocedal and Wright, 3.59)."""
    if a[0] > b[0]:
        a, b = b, a
    (x1, f1, g1), (x2, f2, g2) = a, b
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 ** 2 - g1 * g2
    if not square >= 0:
        return sum(bounds) / 2.0
    d2 = square.sqrt()
    return min(max(x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2)), bounds[0]), bounds[1])


def _strong_wolfe(at, t, d, loss, grad, slope, c1=1e-4, c2=0.9, least=1e-9, most=25):
    """A step t along d that meets Wolfe's strong conditions: (loss, gradient, t, evaluations). at(t) evaluates there. Points
    are (t, loss, slope, gradient)."""
    def point(t):
        f, g = at(t)
        return t, f, g.dot(d), g

    def falls_short(new, lowest):
        return new[1] > loss + c1 * new[0] * slope or new[1] >= lowest

    def is_flat(new):
        return abs(new[2]) <= -c2 * slope

    size, start = d.abs().max(), (0, loss, slope, grad)
    before, new, evals, n = start, point(t), 1, 0
    ends, done = [start, new], False
    while n < most:  # until an interval holds such a point
        if falls_short(new, before[1] if n > 1 else float('inf')):
            ends = [before, new]
            break
        if is_flat(new):
            ends, done = [new], True
            break
        if new[2] >= 0:
            ends = [before, new]
            break
        t, last = new[0], before[0]
        t = _cubic_minimum(before[:3], new[:3], (t + 0.01 * (t - last), t * 10))
        before, new, evals, n = new, point(t), evals + 1, n + 1
    if n == most:
        ends = [start, new]
    slow, low = False, int(not ends[0][1] <= ends[-1][1])
    while not done and n < most:  # the interval becomes smaller
        first, last = min(ends[0][0], ends[1][0]), max(ends[0][0], ends[1][0])
        if (last - first) * size < least:
            break
        t = _cubic_minimum(ends[0][:3], ends[1][:3], (first, last))
        edge = 0.1 * (last - first)
        near = min(last - t, t - first) < edge
        if near and (slow or t >= last or t <= first):
            t, near = (last - edge if abs(t - last) < abs(t - first) else first + edge), False
        slow = near
        new, evals, n = point(t), evals + 1, n + 1
        if falls_short(new, ends[low][1]):
            ends[1 - low] = new
            low = int(not ends[0][1] <= ends[1][1])
        else:
            done = is_flat(new)
            if not done and new[2] * (ends[1 - low][0] - ends[low][0]) >= 0:
                ends[1 - low] = ends[low]
            ends[low] = new
    t, loss, _, grad = ends[low]
    return loss, grad, t, evals


class LBFGS(Optimizer):
    """All parameters are one vector, whose last steps and changes of the gradient stand for the second derivatives."""

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9,
                 history_size=100, line_search_fn=None):
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
                                      tolerance_grad=tolerance_grad, tolerance_change=tolerance_change,
                                      history_size=history_size, line_search_fn=line_search_fn))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def _gradient(self):
        return torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1)
                          for p in self.param_groups[0]['params']])

    def _go(self, t, d):
        at = 0
        for p in self.param_groups[0]['params']:
            p += t * d[at:at + p.numel()].view_as(p)
            at += p.numel()

    def _search(self, closure, d, t, loss, grad, slope, most):
        """The step that a line search finds, without going it."""
        params = self.param_groups[0]['params']
        kept = [p.clone() for p in params]

        def at(t):
            self._go(t, d)
            found = float(closure()), self._gradient()
            for p, before in zip(params, kept):
                p.copy_(before)
            return found
        return _strong_wolfe(at, t, d, loss, grad, slope, most=most)

    def _direction(self, grad, state, size):
        """Two loops over the history (Nocedal and Wright, algorithm 7.4)."""
        history = state['history']
        y, s = grad - state['prev_grad'], state['d'] * state['t']
        ys = y.dot(s)
        if ys > 1e-10:
            if len(history) == size:
                history.pop(0)
            history.append((y, s, 1 / ys))
            state['H_diag'] = ys / y.dot(y)
        q, al = -grad, []
        for y, s, ro in reversed(history):
            al.append(s.dot(q) * ro)
            q = q - al[-1] * y
        d = q * state['H_diag']
        for (y, s, ro), a in zip(history, reversed(al)):
            d = d + s * (a - y.dot(d) * ro)
        return d

    def step(self, closure):
        with torch.no_grad():
            return self._step(torch.enable_grad()(closure))

    def _step(self, closure):
        group, state = self.param_groups[0], self.state[self.param_groups[0]['params'][0]]
        first = closure()
        loss, grad, evals = float(first), self._gradient(), 1
        state['func_evals'] = state.get('func_evals', 0) + 1
        if grad.abs().max() <= group['tolerance_grad']:
            return first
        for i in range(1, group['max_iter'] + 1):
            state['n_iter'] = state.get('n_iter', 0) + 1
            t = group['lr']
            if state['n_iter'] == 1:
                state['history'], state['H_diag'], d = [], 1, -grad
                t *= min(1.0, 1 / grad.abs().sum().item())
            else:
                d = self._direction(grad, state, group['history_size'])
            prev_loss, slope, took = loss, grad.dot(d), 0
            state['prev_grad'], state['d'], state['t'] = grad, d, t
            if slope > -group['tolerance_change']:
                break
            if group['line_search_fn'] is not None:
                if group['line_search_fn'] != 'strong_wolfe':
                    raise RuntimeError("only 'strong_wolfe' is supported")
                loss, grad, t, took = self._search(closure, d, t, loss, grad, slope, group['max_eval'] - evals)
                state['t'] = t
            self._go(t, d)
            if group['line_search_fn'] is None and i < group['max_iter']:
                loss, grad, took = float(closure()), self._gradient(), 1
            evals += took
            state['func_evals'] += took
            if i == group['max_iter']:
                break
            if (evals >= group['max_eval'] or grad.abs().max() <= group['tolerance_grad'] or
                    (d * t).abs().max() <= group['tolerance_change'] or abs(loss - prev_loss) < group['tolerance_change']):
                break
        return first
