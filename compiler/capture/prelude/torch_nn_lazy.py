"""torch.nn: layers that take the number of features from their first input, and then are the layers of that number."""
import torch
import torch.nn as nn
from _warpsmith import refuse


class UninitializedParameter:
    """Stands for a tensor until the first input has told its shape; the dtype may be told before."""
    grad = dtype = None

    def to(self, *args, **kwargs):
        found = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.dtype)]
        if found:
            self.dtype = found[0]
        return self

    def requires_grad_(self, requires_grad=True):
        if not requires_grad:
            refuse('requires_grad_(False) of a parameter that a lazy module has not made yet is not supported')
        return self

    @property
    def shape(self):
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. Run the module once on an input "
                           "first, which says it")

    def __getattr__(self, name):
        raise ValueError("Attempted to use an uninitialized parameter in a lazy module. Run the module once on an input first, "
                         f"which says its shape (asked for: '{name}')")


class UninitializedBuffer(UninitializedParameter):
    pass


class _Lazy:
    def __init__(self, *args, **kwargs):
        self.cls_to_become.__init__(self, 0, *args, **kwargs)
        self._given = args, kwargs
        for name in ('weight', 'bias', 'running_mean', 'running_var'):
            value = getattr(self, name, None)
            if value is not None:
                setattr(self, name, (UninitializedParameter if name in ('weight', 'bias') else UninitializedBuffer)())
                getattr(self, name).dtype = value.dtype

    def reset_parameters(self):
        pass

    def has_uninitialized_params(self):
        return True

    def initialize_parameters(self, input):
        ready, dtype, (args, kwargs) = self.cls_to_become, getattr(self.weight, 'dtype', None), self._given
        features = input.shape[self._features(input)]
        del self._given
        self.__class__ = ready
        ready.__init__(self, features, *args, **kwargs)
        if dtype is not None and dtype != self.weight.dtype:
            self.to(dtype)

    def forward(self, input):
        self.initialize_parameters(input)
        return type(self).forward(self, input)

    def _features(self, input):
        """The dimension of channels, of a batch or of one image."""
        return input.ndim - self._spatial - 1 if self._spatial else 1


def _lazy(name, ready, spatial=0):
    class Lazy(_Lazy, ready):
        cls_to_become, _spatial = ready, spatial
    Lazy.__name__ = Lazy.__qualname__ = name
    return Lazy


class LazyLinear(_Lazy, nn.Linear):
    cls_to_become = nn.Linear

    def _features(self, input):
        return -1


LazyConv1d, LazyConv2d, LazyConv3d = [_lazy(f'LazyConv{i}d', c, i)
                                      for i, c in enumerate((nn.Conv1d, nn.Conv2d, nn.Conv3d), 1)]
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = [
    _lazy(f'LazyConvTranspose{i}d', c, i) for i, c in enumerate((nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d), 1)]
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = [
    _lazy(f'LazyBatchNorm{i}d', c) for i, c in enumerate((nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d), 1)]
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = [
    _lazy(f'LazyInstanceNorm{i}d', c, i) for i, c in enumerate((nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d), 1)]
