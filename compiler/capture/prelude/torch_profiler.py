"""torch.profiler: names of regions, which nothing reads here; all else says so where it is called."""
from contextlib import ContextDecorator


class record_function(ContextDecorator):
    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def __getattr__(name):
    import later
    return later.of('torch.profiler', name)
