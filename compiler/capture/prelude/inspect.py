"""inspect: what a function takes, and what a value is."""
import later
import sys
from _warpsmith import parameters, source_of


class Parameter:
    """empty: there is no default."""
    class empty:
        pass
    POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD, VAR_POSITIONAL, KEYWORD_ONLY, VAR_KEYWORD = 0, 1, 2, 3, 4

    def __init__(self, name, kind, default=empty):
        self.name, self.kind, self.default = name, kind, default


_empty = Parameter.empty


class Signature:
    def __init__(self, parameters):
        self.parameters = parameters


def unwrap(func):
    while hasattr(func, '__wrapped__'):
        func = func.__wrapped__
    return func


def signature(obj, follow_wrapped=True):
    obj = unwrap(obj) if follow_wrapped else obj
    if isclass(obj):
        found = parameters(obj.__init__)[1:]
    else:
        found = parameters(obj.__call__ if not (isfunction(obj) or ismethod(obj)) and hasattr(obj, '__call__') else obj)
    return Signature({p[0]: Parameter(*p) for p in found})


def isclass(obj):
    return isinstance(obj, type)


def getsource(object):
    """The text of a module; of a function or class what stands further in than its first line, and that."""
    text, line = source_of(object)
    if not line:
        return text
    lines = text.splitlines(True)[line - 1:]
    margin = len(lines[0]) - len(lines[0].lstrip())
    end = 1
    while end < len(lines) and (not lines[end].strip() or lines[end][:margin + 1].strip() in ('', ')', ']', '}')):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return ''.join(lines[:end])


def getmodule(object):
    return sys.modules.get(object.__module__)


def getmro(cls):
    return cls.__mro__


def isfunction(obj):
    return isinstance(obj, type(isclass))


def ismethod(obj):
    return isinstance(obj, type(Parameter('', 0).__init__))


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    return later.of(__name__, name)
