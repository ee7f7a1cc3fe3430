"""torch.amp: on a machine without CUDA, what is asked for cuda has no effect, as in PyTorch; all else is refused."""
from _warpsmith import computes, has_cuda, refuse

_without_cuda = computes() and not has_cuda()  # a script, not a workload, which is for any machine


class autocast:
    def __init__(self, device_type=None, dtype=None, enabled=True, cache_enabled=None):
        if enabled and not (device_type == 'cuda' and _without_cuda):
            refuse('torch.autocast is not supported; --dtype bf16 casts a whole workload')

    def __enter__(self):
        return self

    def __exit__(self, type, value, traceback):
        pass

    def __call__(self, function):
        return function


class GradScaler:
    """One that is not enabled: losses and gradients pass through as they are."""

    def __init__(self, device='cuda', init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                 enabled=True):
        if enabled and not _without_cuda:
            refuse('GradScaler is not supported; losses are scaled by hand')

    def scale(self, outputs):
        return outputs

    def unscale_(self, optimizer):
        pass

    def step(self, optimizer, *args, **kwargs):
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        pass

    def get_scale(self):
        return 1.0

    def is_enabled(self):
        return False

    def state_dict(self):
        return {}

    def load_state_dict(self, state_dict):
        pass
