"""typing: annotations are dropped by the frontend, so every name is one and the same."""
class _Type:
    def __getitem__(self, item):
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __or__(self, other):
        return self


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
