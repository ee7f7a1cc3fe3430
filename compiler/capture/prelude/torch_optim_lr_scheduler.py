"""torch.optim.lr_scheduler: rates of an optimizer's groups, step by step, by PyTorch's chainable formulas."""
import bisect
import math


class LRScheduler:
    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for group in optimizer.param_groups:
            group.setdefault('initial_lr', group['lr'])
        self.base_lrs = [group['initial_lr'] for group in optimizer.param_groups]
        self.step()

    def get_lr(self):
        raise NotImplementedError

    def _ws_at(self, base, epoch):
        """The rate, for schedulers that know it without their way there; else None."""
        return None

    def step(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = [None] if epoch is None else [self._ws_at(base, epoch) for base in self.base_lrs]
        rates = self.get_lr() if rates[0] is None else rates
        for group, lr in zip(self.optimizer.param_groups, rates):
            group['lr'] = lr
        self._last_lr = [group['lr'] for group in self.optimizer.param_groups]

    def get_last_lr(self):
        return self._last_lr

    def _ws_lrs(self):
        return [group['lr'] for group in self.optimizer.param_groups]

    def _ws_times(self, factor):
        return [lr * factor for lr in self._ws_lrs()]

    def state_dict(self):
        return {key: value for key, value in self.__dict__.items() if key != 'optimizer'}

    def load_state_dict(self, state_dict):
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler


class LambdaLR(LRScheduler):
    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        many = isinstance(lr_lambda, (list, tuple))
        self.lr_lambdas = list(lr_lambda) if many else [lr_lambda] * len(optimizer.param_groups)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(LambdaLR):
    def get_lr(self):
        if self.last_epoch == 0:
            return self._ws_lrs()
        return [lr * f(self.last_epoch) for lr, f in zip(self._ws_lrs(), self.lr_lambdas)]


class StepLR(LRScheduler):
    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _ws_at(self, base, epoch):
        return base * self.gamma ** (epoch // self.step_size)

    def get_lr(self):
        due = self.last_epoch and self.last_epoch % self.step_size == 0
        return self._ws_times(self.gamma) if due else self._ws_lrs()


class MultiStepLR(LRScheduler):
    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = list(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _ws_at(self, base, epoch):
        return base * self.gamma ** len([m for m in self.milestones if m <= epoch])

    def get_lr(self):
        due = self.milestones.count(self.last_epoch)
        return self._ws_times(self.gamma ** due) if due else self._ws_lrs()


class ConstantLR(LRScheduler):
    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _ws_at(self, base, epoch):
        return base * (1.0 if epoch >= self.total_iters else self.factor)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._ws_times(self.factor)
        return self._ws_times(1 / self.factor) if self.last_epoch == self.total_iters else self._ws_lrs()


class LinearLR(LRScheduler):
    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _ws_at(self, base, epoch):
        return base * (self.start_factor + (self.end_factor - self.start_factor) * min(self.total_iters, epoch) / self.total_iters)

    def get_lr(self):
        start, end, n = self.start_factor, self.end_factor, self.total_iters
        if self.last_epoch == 0:
            return self._ws_times(start)
        if self.last_epoch > n:
            return self._ws_lrs()
        return self._ws_times(1 + (end - start) / (n * start + (self.last_epoch - 1) * (end - start)))


class ExponentialLR(LRScheduler):
    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ws_at(self, base, epoch):
        return base * self.gamma ** epoch

    def get_lr(self):
        return self._ws_times(self.gamma) if self.last_epoch else self._ws_lrs()


class PolynomialLR(LRScheduler):
    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _ws_at(self, base, epoch):
        return base * (1 - min(self.total_iters, epoch) / self.total_iters) ** self.power

    def get_lr(self):
        n = self.total_iters
        if self.last_epoch == 0 or self.last_epoch > n:
            return self._ws_lrs()
        return self._ws_times(((1 - self.last_epoch / n) / (1 - (self.last_epoch - 1) / n)) ** self.power)


class CosineAnnealingLR(LRScheduler):
    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _ws_at(self, base, epoch):
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def get_lr(self):
        n, t, low = self.T_max, self.last_epoch, self.eta_min
        if t == 0:
            return self._ws_lrs()
        if (t - 1 - n) % (2 * n) == 0:
            return [lr + (base - low) * (1 - math.cos(math.pi / n)) / 2 for lr, base in zip(self._ws_lrs(), self.base_lrs)]
        factor = (1 + math.cos(math.pi * t / n)) / (1 + math.cos(math.pi * (t - 1) / n))
        return [factor * (lr - low) + low for lr in self._ws_lrs()]


class CosineAnnealingWarmRestarts(LRScheduler):
    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        factor = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * factor for base in self.base_lrs]

    def step(self, epoch=None):
        if epoch is None:
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            self.T_cur, self.T_i = epoch, self.T_0
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        super().step(epoch)


class OneCycleLR(LRScheduler):
    """Up to max_lr, down, and, with three_phase, far down; momentum (or beta1) goes the other way."""

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy='cos', cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
                 final_div_factor=1e4, three_phase=False, last_epoch=-1):
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError('You must define either total_steps OR (epochs AND steps_per_epoch)')
        n = self.total_steps = epochs * steps_per_epoch if total_steps is None else total_steps
        ends = [('initial_lr', 'max_lr', 'max_momentum', 'base_momentum', pct_start * n - 1)]
        if three_phase:
            ends += [('max_lr', 'initial_lr', 'base_momentum', 'max_momentum', 2 * pct_start * n - 2),
                     ('initial_lr', 'min_lr', 'max_momentum', 'max_momentum', n - 1)]
        else:
            ends += [('max_lr', 'min_lr', 'base_momentum', 'max_momentum', n - 1)]
        self._ws_phases, self._ws_strategy, self.cycle_momentum = ends, anneal_strategy, cycle_momentum
        rates = list(max_lr) if isinstance(max_lr, (list, tuple)) else [max_lr] * len(optimizer.param_groups)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, rates):
                group['max_lr'], group['initial_lr'] = rate, rate / div_factor
                group['min_lr'] = group['initial_lr'] / final_div_factor
                group['lr'] = group['initial_lr']
                if cycle_momentum:
                    group['max_momentum'], group['base_momentum'] = max_momentum, base_momentum
        if cycle_momentum and not ('momentum' in optimizer.defaults or 'betas' in optimizer.defaults):
            raise ValueError('optimizer must support momentum or beta1 with `cycle_momentum` option enabled')
        super().__init__(optimizer, last_epoch)

    def _ws_between(self, start, end, share):
        if self._ws_strategy == 'linear':
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self):
        if self.last_epoch > self.total_steps:
            raise ValueError(f'Tried to step {self.last_epoch} times. The total number of steps is {self.total_steps}')
        begin, phase = 0.0, 0
        while self.last_epoch > self._ws_phases[phase][4] and phase < len(self._ws_phases) - 1:
            begin, phase = self._ws_phases[phase][4], phase + 1
        low, high, first, last, end = self._ws_phases[phase]
        share, rates = (self.last_epoch - begin) / (end - begin), []
        for group in self.optimizer.param_groups:
            rates.append(self._ws_between(group[low], group[high], share))
            if self.cycle_momentum:
                momentum = self._ws_between(group[first], group[last], share)
                if 'betas' in group:
                    group['betas'] = (momentum, *group['betas'][1:])
                else:
                    group['momentum'] = momentum
        return rates


class CyclicLR(LRScheduler):
    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode='triangular', gamma=1.0,
                 scale_fn=None, scale_mode='cycle', cycle_momentum=True, base_momentum=0.8, max_momentum=0.9,
                 last_epoch=-1):
        many = len(optimizer.param_groups)
        spread = lambda x: list(x) if isinstance(x, (list, tuple)) else [x] * many
        low, self.max_lrs = spread(base_lr), spread(max_lr)
        for group, rate in zip(optimizer.param_groups, low):
            group['lr'] = rate
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        scales = {'triangular': (lambda n: 1.0, 'cycle'), 'triangular2': (lambda n: 1 / 2.0 ** (n - 1), 'cycle'),
                  'exp_range': (lambda n: gamma ** n, 'iterations')}
        self._ws_scale, self.scale_mode = scales[mode] if scale_fn is None else (scale_fn, scale_mode)
        self.cycle_momentum, self._ws_momenta = cycle_momentum, (base_momentum, max_momentum)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = low

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        share *= self._ws_scale(cycle if self.scale_mode == 'cycle' else self.last_epoch)
        if self.cycle_momentum:
            low, high = self._ws_momenta
            for group in self.optimizer.param_groups:
                if 'betas' in group:
                    group['betas'] = (high - (high - low) * share, *group['betas'][1:])
                else:
                    group['momentum'] = high - (high - low) * share
        return [base + (high - base) * share for base, high in zip(self.base_lrs, self.max_lrs)]


class SequentialLR(LRScheduler):
    """One scheduler after the other; each begins where its milestone is."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self._schedulers, self._milestones = schedulers, list(milestones)
        self.optimizer, self.last_epoch = optimizer, last_epoch + 1
        for group in optimizer.param_groups:
            group['lr'] = group['initial_lr']
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        schedulers[0].step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self):
        self.last_epoch += 1
        i = bisect.bisect_right(self._milestones, self.last_epoch)
        if i and self._milestones[i - 1] == self.last_epoch:
            self._schedulers[i].step(0)
        else:
            self._schedulers[i].step()
        self._last_lr = self._schedulers[i].get_last_lr()


class ChainedScheduler(LRScheduler):
    def __init__(self, schedulers, optimizer=None):
        self._schedulers, self.optimizer = list(schedulers), optimizer or schedulers[0].optimizer
        self._last_lr = self._ws_lrs()

    def step(self):
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._ws_lrs()


class ReduceLROnPlateau(LRScheduler):
    def __init__(self, optimizer, mode='min', factor=0.1, patience=10, threshold=1e-4, threshold_mode='rel', cooldown=0,
                 min_lr=0, eps=1e-8):
        self.optimizer, self.mode, self.factor, self.patience, self.eps = optimizer, mode, factor, patience, eps
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * len(optimizer.param_groups)
        self.last_epoch, self.num_bad_epochs, self.cooldown_counter = 0, 0, 0
        self.best = math.inf if mode == 'min' else -math.inf
        self._last_lr = self._ws_lrs()

    def _is_better(self, a):
        sign = -1 if self.mode == 'min' else 1
        if self.threshold_mode == 'rel':
            bound = self.best * (1 + sign * self.threshold)
        else:
            bound = self.best + sign * self.threshold
        return a < bound if self.mode == 'min' else a > bound

    def step(self, metrics, epoch=None):
        value = float(metrics)
        self.last_epoch += 1
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                lr = max(group['lr'] * self.factor, least)
                if group['lr'] - lr > self.eps:
                    group['lr'] = lr
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._ws_lrs()
