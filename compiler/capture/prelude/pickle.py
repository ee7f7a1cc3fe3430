"""pickle: copies of objects, in memory; torch.save() has files."""
import later
import copy
from io import BytesIO

HIGHEST_PROTOCOL = DEFAULT_PROTOCOL = 5


class PickleError(Exception):
    pass


class PicklingError(PickleError):
    pass


class UnpicklingError(PickleError):
    pass


class _Copy:
    def __init__(self, obj):
        self.obj = copy.deepcopy(obj)


def dumps(obj, protocol=None, **options):
    return _Copy(obj)


def loads(data, **options):
    return copy.deepcopy(data.obj) if isinstance(data, _Copy) else later.of('pickle', 'loads() of bytes')()


def dump(obj, file, protocol=None, **options):
    if not isinstance(file, BytesIO):
        later.of('pickle', 'dump() to a file')()
    else:
        file.write(_Copy(obj))


def load(file, **options):
    return loads(file.read()) if isinstance(file, BytesIO) else later.of('pickle', 'load() of a file')()


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    return later.of(__name__, name)
