"""typing: annotations are dropped by the frontend, so every name is one and the same."""
class _Type:
    def __getitem__(self, item):
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __or__(self, other):
        return self


class Generic:
    pass


class Protocol:
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


def __getattr__(name):
    if name == 'NamedTuple':
        from collections import NamedTuple
        return NamedTuple
    return _Type()
