"""A module that is not there, for a file that imports it and never uses it: whatever is made of its names is refused, but for
what a workload makes before forward, which does not use it: matplotlib.use('Agg'), self.history = callbacks.History()."""
from _warpsmith import in_module_body, before_forward


def refuse(name):
    raise ModuleNotFoundError(f"no module named '{__name__}', of which this uses {name}; a workload may import torch, "
                              f"math, einops, much of numpy, and much of the standard library")


def of(name):
    class Missing:
        def __new__(cls, *args, **kwargs):
            return made(f'{name}()')

        def __class_getitem__(cls, item):
            return cls
    Missing.__name__ = name
    return Missing


def made(name):
    """What is made of a missing name is missing as well."""
    if not before_forward():
        refuse(name.split('(')[0].split('.')[0])
    return of(name)


def __getattr__(name):
    if name == '__version__' and in_module_body():
        return '0.0.0'  # older than whatever a file looks for
    if name[:2] == '__':
        raise AttributeError(name)
    return of(name)
