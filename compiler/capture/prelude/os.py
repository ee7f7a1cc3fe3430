"""os: what scripts ask of the environment."""
from _warpsmith import environment, make_folder, path_kind, refuse, working_directory
from later import of as _later
import sys

sep, linesep, name, devnull = '/', '\n', 'posix', '/dev/null'
curdir, pardir, extsep, pathsep, altsep = '.', '..', '.', ':', None
environ = environment()


def getenv(key, default=None):
    return environ.get(key, default)


def getcwd():
    return working_directory()


def cpu_count():
    return 1


system = _later('os', 'system')


class _HasPath:
    def __instancecheck__(cls, x):
        return hasattr(x, '__fspath__') if cls is PathLike else cls in type(x).__mro__


class PathLike(metaclass=_HasPath):
    def __class_getitem__(cls, item):
        return cls


def fspath(path):
    return path if isinstance(path, str) else path.__fspath__()


def mkdir(path, mode=511):
    if path_kind(fspath(path)):
        raise FileExistsError(f"[Errno 17] File exists: '{fspath(path)}'")
    if not make_folder(fspath(path)):
        raise FileNotFoundError(f"[Errno 2] No such file or directory: '{fspath(path)}'")


def makedirs(name, mode=511, exist_ok=False):
    name, at = fspath(name), 0
    if exist_ok and path_kind(name) == 'folder':
        return
    while at >= 0:
        at = name.find('/', at + 1)
        if at > 0 and not path_kind(name[:at]):
            mkdir(name[:at])
    mkdir(name)


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    refuse(f'os.{name} is not supported')
