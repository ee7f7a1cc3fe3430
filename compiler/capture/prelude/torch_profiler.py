"""torch.profiler: names of regions, which nothing reads here; all else says so where it is called."""
from contextlib import ContextDecorator
from _warpsmith import refuse


class record_function(ContextDecorator):
    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class ProfilerActivity:
    CPU, CUDA, XPU = 0, 1, 2


def schedule(**steps):
    return steps


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    return None


class profile(ContextDecorator):
    """What is measured, nobody is told: warpsmith bench measures."""

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def step(self):
        pass
    start = stop = step

    def __getattr__(self, name):
        refuse(f'torch.profiler.profile.{name} is not supported; warpsmith bench and explain tell what kernels take')


def __getattr__(name):
    import later
    return later.of('torch.profiler', name)
