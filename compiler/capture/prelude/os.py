"""os: what scripts ask of the environment. Files are looked for, never read or written."""
from _warpsmith import environment, path_kind, refuse, working_directory
import sys

sep, linesep, name, devnull = '/', '\n', 'posix', '/dev/null'
environ = environment()


def getenv(key, default=None):
    return environ.get(key, default)


def getcwd():
    return working_directory()


def cpu_count():
    return 1


def fspath(path):
    return path if isinstance(path, str) else path.__fspath__()


def makedirs(name, mode=511, exist_ok=False):
    refuse('os.makedirs() is not supported; a script writes no files')


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    refuse(f'os.{name} is not supported')
