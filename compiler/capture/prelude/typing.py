"""typing: annotations are dropped by the frontend, so every name is one and the same."""
class _Type:
    def __init__(self, name=None):
        self._name = name

    def __instancecheck__(self, value):
        if self._name not in _CHECKS:
            raise TypeError(f'isinstance() argument 2 cannot be a parameterized generic: {self._name}')
        return _CHECKS[self._name](value)

    def __getitem__(self, item):
        return self

    def __mro_entries__(self, bases):
        return ()

    def __call__(self, *args, **kwargs):
        return self

    def __or__(self, other):
        return self

    __ror__ = __or__


class Generic:
    pass


class _Protocols:
    """Metaclass: isinstance() of a protocol asks for the names that its body has."""

    def __instancecheck__(cls, value):
        names = [*cls.__dict__, *cls.__dict__.get('__annotations__', ())]
        return Protocol in cls.__bases__ and all([hasattr(value, name) for name in names if name not in _NO_MEMBERS])


_NO_MEMBERS = ('__annotations__', '__doc__', '__init__', '__module__', '__slots__')


class Protocol(metaclass=_Protocols):
    pass


class _Dicts:
    """Metaclass: what is derived from TypedDict makes dicts."""

    def __call__(cls, *args, **kwargs):
        return dict(*args, **kwargs)


class TypedDict(metaclass=_Dicts):
    def __init_subclass__(cls, total=True):
        pass


TYPE_CHECKING = False


def cast(type, value):
    return value


def overload(function):
    return function


final = runtime_checkable = no_type_check = overload


# What `from typing import *` brings.
__all__ = ['AbstractSet', 'Annotated', 'Any', 'AnyStr', 'Callable', 'ClassVar', 'Collection', 'Container', 'ContextManager', 'Counter',
           'DefaultDict', 'Deque', 'Dict', 'Final', 'FrozenSet', 'Generator', 'Generic', 'Hashable', 'Iterable', 'Iterator', 'List',
           'Literal', 'Mapping', 'MutableMapping', 'MutableSequence', 'NamedTuple', 'NewType', 'NoReturn', 'Optional', 'OrderedDict',
           'ParamSpec', 'Protocol', 'Sequence', 'Set', 'Sized', 'Text', 'Tuple', 'Type', 'TypedDict', 'TypeVar', 'Union', 'cast', 'final',
           'no_type_check', 'overload', 'runtime_checkable', 'TYPE_CHECKING']


def __getattr__(name):
    if name == 'NamedTuple':
        from collections import NamedTuple
        return NamedTuple
    return _Type(name)


def _has(*names):
    return lambda value: all([hasattr(value, name) for name in names])


def _is(*classes):
    return lambda value: isinstance(value, classes)


def _hashable(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True


# What isinstance() asks of a value.
_CHECKS = {'Any': lambda value: True, 'Callable': callable, 'Hashable': _hashable, 'Sized': _has('__len__'),
           'Container': _has('__contains__'), 'Iterator': _has('__next__'), 'Generator': _has('__next__'),
           'List': _is(list), 'Dict': _is(dict), 'Tuple': _is(tuple), 'Set': _is(set), 'FrozenSet': _is(frozenset), 'Type': _is(type),
           'Text': _is(str), 'Sequence': _is(list, tuple, str, range), 'MutableSequence': _is(list), 'Mapping': _is(dict),
           'MutableMapping': _is(dict)}


def _iterable(value):
    return isinstance(value, (list, tuple, dict, set, str, range)) or hasattr(value, '__iter__')


_CHECKS['Iterable'] = _CHECKS['Collection'] = _iterable
