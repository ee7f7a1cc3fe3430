"""torch.library: operators of the program's own, called as functions and as torch.ops.NAMESPACE.NAME.

An operator is its function: what is registered for other devices, and for shapes alone, is not called. With a gradient that
is registered it is a torch.autograd.Function."""
import torch
from _warpsmith import refuse

_known = {}  # by 'namespace::name'


class CustomOpDef:
    def __init__(self, name, function):
        self._qualname, self._function, self._gradient = name.split('(')[0], function, None
        self._namespace, _, self._name = self._qualname.partition('::')
        _known[self._qualname] = self

    def __call__(self, *args, **kwargs):
        if self._function is None:
            refuse(f'operator {self._qualname} has no implementation')
        if self._gradient is None or kwargs:
            return self._function(*args, **kwargs)
        return self._gradient.apply(*args)

    def __getattr__(self, overload):
        if overload != 'default':
            raise AttributeError(overload)
        return self

    def _aside(self, fn=None):
        """A function for shapes, or for another device: kept out."""
        return (lambda fn: fn) if fn is None else fn

    register_fake = register_vmap = register_torch_dispatch = _aside

    def register_kernel(self, device_types=None, fn=None):
        def keep(fn):
            if self._function is None or device_types == 'cpu':
                self._function = fn
            return fn
        return keep if fn is None else keep(fn)

    def register_autograd(self, backward, *, setup_context=None):
        op = self

        class Gradient(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *args):
                out = op._function(*args)
                if setup_context is not None:
                    setup_context(ctx, args, out)
                return out
        Gradient.backward = staticmethod(backward)
        Gradient.__name__ = self._name
        self._gradient = Gradient


def custom_op(name, fn=None, /, *, mutates_args=(), device_types=None, schema=None, tags=None):
    def make(fn):
        return CustomOpDef(name, fn)
    return make if fn is None else make(fn)


triton_op = custom_op


def wrap_triton(kernel):
    return kernel


def _op(op):
    name = op if isinstance(op, str) else op._qualname
    return _known[name] if name in _known else CustomOpDef(name, None)


def define(qualname, schema=None, *, lib=None, tags=()):
    _op(qualname.split('(')[0])


def register_fake(op, func=None, /, *, lib=None, allow_override=False):
    return _op(op)._aside(func)


impl_abstract = register_fake


def register_kernel(op, device_types, func=None, /, *, lib=None):
    return _op(op).register_kernel(device_types, func)


def impl(qualname, types, func=None, *, lib=None):
    return _op(qualname).register_kernel(types if isinstance(types, str) else None, func)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    _op(op).register_autograd(backward, setup_context=setup_context)


class Library:
    def __init__(self, ns, kind='DEF', dispatch_key=''):
        self.ns, self.kind = ns, kind

    def define(self, schema, alias_analysis='', *, tags=()):
        name = schema.split('(')[0].strip()
        _op(f'{self.ns}::{name}')
        return name

    def impl(self, op_name, fn, dispatch_key='', *, with_keyset=False, allow_override=False):
        if dispatch_key != 'Meta' and not dispatch_key.startswith('Autograd'):
            _op(f'{self.ns}::{op_name}').register_kernel('cuda' if dispatch_key == 'CUDA' else 'cpu', fn)


def opcheck(*args, **kwargs):
    return {}


class _Namespace:
    """torch.ops.NAME, which is there for any name; an operator has to be one that the program has made."""

    def __init__(self, name):
        self._of = name

    def __getattr__(self, name):
        if f'{self._of}::{name}' not in _known:
            raise AttributeError(f"'_OpNamespace' '{self._of}' object has no attribute '{name}'")
        return _known[f'{self._of}::{name}']


_namespace = _Namespace
