"""torch.amp: what is asked for a device that the program's tensors are not on has no effect, as in PyTorch. Those of a workload
say that they are on a CPU and are compiled for any machine: autocast of cpu is for them wherever they are, of cuda on GPUs."""
import torch
from _warpsmith import computes, get_autocast, has_cuda, is_script, refuse, set_autocast

_without_cuda = computes() and not has_cuda()  # a script, not a workload, which is for any machine


class autocast:
    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        self.device = str(device_type).split(':')[0]
        if self.device not in ('cpu', 'cuda'):
            refuse(f"torch.autocast of '{self.device}' is not supported; cpu and cuda are")
        if enabled and self.device == 'cpu' and is_script() and has_cuda():
            refuse("torch.autocast('cpu') in a script on a machine with a GPU is not supported")
        self.fast_dtype = dtype or get_autocast_dtype(self.device)
        self._enabled = enabled and self.fast_dtype in (torch.float16, torch.bfloat16)

    def _begin(self):
        return set_autocast(self.device == 'cuda', self.fast_dtype if self._enabled else None)

    def __enter__(self):
        self._before = self._begin()
        return self

    def __exit__(self, type, value, traceback):
        set_autocast(self.device == 'cuda', self._before)

    def __call__(self, function):
        def decorate_autocast(*args, **kwargs):
            before = self._begin()
            try:
                return function(*args, **kwargs)
            finally:
                set_autocast(self.device == 'cuda', before)
        return decorate_autocast


def is_autocast_enabled(device_type='cuda'):
    return get_autocast(device_type == 'cuda') is not None


def get_autocast_dtype(device_type):
    return get_autocast(device_type == 'cuda') or (torch.float16 if device_type == 'cuda' else torch.bfloat16)


def custom_fwd(fwd=None, *, device_type='cuda', cast_inputs=None):
    """autocast is as it was around the call, but for cast_inputs, which are then in that type, under no autocast."""
    if fwd is None:
        return lambda fwd: custom_fwd(fwd, device_type=device_type, cast_inputs=cast_inputs)

    def decorate_fwd(*args, **kwargs):
        if cast_inputs is None or not is_autocast_enabled(device_type):
            return fwd(*args, **kwargs)
        args = [a.to(cast_inputs) if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args]
        with autocast(device_type, enabled=False):
            return fwd(*args, **kwargs)
    return decorate_fwd


def custom_bwd(bwd=None, *, device_type='cuda'):
    return bwd if bwd is not None else lambda bwd: bwd


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
