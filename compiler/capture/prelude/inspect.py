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


class BoundArguments:
    """What each parameter of a signature gets; args and kwargs call the function with it."""
    def __init__(self, signature, arguments):
        self.signature, self.arguments = signature, arguments

    def apply_defaults(self):
        all = {}
        for name, p in self.signature.parameters.items():
            if name in self.arguments:
                all[name] = self.arguments[name]
            elif p.default is not _empty:
                all[name] = p.default
            elif p.kind == Parameter.VAR_POSITIONAL:
                all[name] = ()
            elif p.kind == Parameter.VAR_KEYWORD:
                all[name] = {}
        self.arguments = all

    def _split(self):
        """Behind a parameter that is left out, what is not positional alone is said by name."""
        args, kwargs, named = [], {}, False
        for name, p in self.signature.parameters.items():
            if p.kind == Parameter.KEYWORD_ONLY:
                named = True
            if name not in self.arguments:
                named = named or p.kind == Parameter.POSITIONAL_OR_KEYWORD
            elif p.kind == Parameter.VAR_KEYWORD:
                kwargs.update(self.arguments[name])
            elif p.kind == Parameter.VAR_POSITIONAL:
                args.extend(self.arguments[name])
                named = True
            elif named:
                kwargs[name] = self.arguments[name]
            else:
                args.append(self.arguments[name])
        return tuple(args), kwargs

    @property
    def args(self):
        return self._split()[0]

    @property
    def kwargs(self):
        return self._split()[1]


class Signature:
    empty = Parameter.empty

    def __init__(self, parameters):
        self.parameters = parameters

    def bind(self, *args, **kwargs):
        return self._bound(args, kwargs, False)

    def bind_partial(self, *args, **kwargs):
        return self._bound(args, kwargs, True)

    def _bound(self, args, kwargs, partial):
        args, kwargs, found = list(args), dict(kwargs), {}
        for name, p in self.parameters.items():
            if p.kind == Parameter.VAR_POSITIONAL:
                if args:
                    found[name] = tuple(args)
                args = []
            elif p.kind == Parameter.VAR_KEYWORD:
                if kwargs:
                    found[name] = kwargs
                kwargs = {}
            elif args and p.kind != Parameter.KEYWORD_ONLY:
                if name in kwargs and p.kind != Parameter.POSITIONAL_ONLY:
                    raise TypeError(f"multiple values for argument '{name}'")
                found[name] = args.pop(0)
            elif name in kwargs and p.kind != Parameter.POSITIONAL_ONLY:
                found[name] = kwargs.pop(name)
            elif p.default is _empty and not partial:
                raise TypeError(f"missing a required argument: '{name}'")
        if args:
            raise TypeError('too many positional arguments')
        if kwargs:
            raise TypeError(f"got an unexpected keyword argument '{list(kwargs)[0]}'")
        return BoundArguments(self, found)


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


class FullArgSpec:
    def __init__(self, args, varargs, varkw, defaults, kwonlyargs, kwonlydefaults, annotations):
        self.args, self.varargs, self.varkw, self.defaults = args, varargs, varkw, defaults
        self.kwonlyargs, self.kwonlydefaults, self.annotations = kwonlyargs, kwonlydefaults, annotations

    def __iter__(self):
        return iter((self.args, self.varargs, self.varkw, self.defaults, self.kwonlyargs, self.kwonlydefaults, self.annotations))

    def __getitem__(self, i):
        return tuple(self)[i]


def getfullargspec(func):
    """What it takes, self with it: of a class __init__() does, of another object __call__()."""
    if isclass(func):
        func = func.__init__
    elif ismethod(func):
        func = func.__func__
    elif not isfunction(func):
        func = type(func).__call__
    found = [Parameter(*p) for p in parameters(unwrap(func))]
    plain = [p for p in found if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    only = [p for p in found if p.kind == Parameter.KEYWORD_ONLY]
    stars = {p.kind: p.name for p in found}
    defaults = tuple([p.default for p in plain if p.default is not _empty])
    of_only = {p.name: p.default for p in only if p.default is not _empty}
    return FullArgSpec([p.name for p in plain], stars.get(Parameter.VAR_POSITIONAL), stars.get(Parameter.VAR_KEYWORD), defaults or None,
                       [p.name for p in only], of_only or None, getattr(func, '__annotations__', {}))


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
