"""torch._dynamo: torch.compile as functions of the program see it."""
from _warpsmith import register, call, mark_dynamic as _mark_dynamic, forget, graph_break as _break, computes, unsupported


class Unsupported(RuntimeError):
    pass


unsupported(Unsupported)


class OptimizedModule:
    """What torch.compile returns: the same function or module, run in compiled segments."""

    def __init__(self, function, number):
        self._orig_mod = function
        self._number = number

    def __call__(self, *args, **kwargs):
        return call(self._number, self._orig_mod, args, kwargs)

    def __getattr__(self, name):
        return getattr(self._orig_mod, name)

    def state_dict(self, **options):
        return {'_orig_mod.' + name: value for name, value in self._orig_mod.state_dict(**options).items()}

    def load_state_dict(self, state_dict, strict=True, assign=False):
        own = {name.removeprefix('_orig_mod.'): value for name, value in state_dict.items()}
        return self._orig_mod.load_state_dict(own, strict, assign)

    def named_parameters(self, *args, **kwargs):
        return [('_orig_mod.' + name, p) for name, p in self._orig_mod.named_parameters(*args, **kwargs)]

    def __get__(self, instance, owner):
        return lambda *args, **kwargs: self(instance, *args, **kwargs)


def optimize(backend='inductor', nopython=False, dynamic=None, **options):
    number = register(backend, dynamic, nopython)
    return lambda function: OptimizedModule(function, number)


def mark_dynamic(tensor, dim):
    _mark_dynamic(tensor, dim)


def reset():
    forget()


def graph_break(msg=''):
    if not computes():
        _break('call of torch._dynamo.graph_break()', 'remove it')


def disable(function=None, recursive=True):
    return (lambda f: f) if function is None else function


class _Config:
    pass


config = _Config()
config.cache_size_limit = config.recompile_limit = 8
config.suppress_errors = config.verbose = False
