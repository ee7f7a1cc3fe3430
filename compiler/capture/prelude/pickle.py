"""pickle: copies of objects, in memory; torch.save() has files."""
import later
import copy
from io import BytesIO
from _warpsmith import refuse

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


def _in_memory(file, what):
    if not isinstance(file, BytesIO):
        refuse(f'pickle.{what}() of a file is not supported; torch.{"save" if what == "dump" else "load"}() is')
    return file


def dumps(obj, protocol=None, **options):
    return _Copy(obj)


def loads(data, **options):
    if not isinstance(data, _Copy):
        refuse('pickle.loads() of what pickle.dumps() did not make is not supported')
    return copy.deepcopy(data.obj)


def dump(obj, file, protocol=None, **options):
    _in_memory(file, 'dump').write(_Copy(obj))


def load(file, **options):
    return loads(_in_memory(file, 'load').read())


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    return later.of(__name__, name)
