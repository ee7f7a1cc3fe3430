"""What a file may import that a capture never uses: only a call of it is refused, or if a workload's own body makes it, a use
of what it makes. Of a name that a module of ours should have, each call is."""
from _warpsmith import refuse, in_module_body


def of(module, name, each=False):
    class Later:
        def __init__(self, *args, **kwargs):
            if each or not in_module_body():
                self()

        def __getattr__(self, part):
            self()

        def __call__(self, *args, **kwargs):
            refuse(f'{module}.{name} is not supported')
    Later.__name__ = f'{module}.{name}'
    return Later


def __getattr__(name):
    return of(__name__, name)
