"""A module that is not there, for a file that imports it and never uses it: whatever is made of its names is refused."""


def refuse(name):
    raise ModuleNotFoundError(f"no module named '{__name__}', of which this uses {name}; a workload may import torch, "
                              f"math, einops, much of numpy, and much of the standard library")


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)

    class Missing:
        def __new__(cls, *args, **kwargs):
            refuse(name)

        def __class_getitem__(cls, item):
            return cls
    Missing.__name__ = name
    return Missing
