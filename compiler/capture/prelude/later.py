"""What a file may import that a capture never uses: only a call of it is refused."""
from _warpsmith import refuse


def __getattr__(name):
    class Later:
        def __init__(self, *args, **kwargs):
            refuse(f'{__name__}.{name} is not supported')
    return Later
