"""What a file may import that a capture never uses: only a call of it is refused."""
from _warpsmith import refuse


def of(module, name):
    class Later:
        def __init__(self, *args, **kwargs):
            refuse(f'{module}.{name} is not supported')
    return Later


def __getattr__(name):
    return of(__name__, name)
