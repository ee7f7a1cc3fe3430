"""Tensors of complex numbers, as the pair of tensors that they are made of: enough for what rotates by them.

    torch.view_as_complex(x) * torch.polar(ones, angles)    four products, a sum and a difference

They are no torch.Tensor: what is not below is not there, and they cannot be returned from what is compiled."""
import math
import torch
from _warpsmith import refuse


def _wide(part, other):
    """A part that other would have been added to the other part of: as large as the sum."""
    grows = isinstance(other, torch.Tensor) and not (isinstance(part, torch.Tensor) and part.shape == other.shape)
    return part + torch.zeros_like(other) if grows else part


def _of_both(name):
    def method(self, *args, **kwargs):
        return self._each(lambda x: getattr(x, name)(*args, **kwargs))
    return method


class Complex:
    is_complex = lambda self: True

    def __init__(self, real, imag):
        self.real, self.imag = real, imag

    view, reshape, flatten, unsqueeze, squeeze, transpose, permute, expand, repeat, repeat_interleave = [_of_both(n) for n in (
        'view', 'reshape', 'flatten', 'unsqueeze', 'squeeze', 'transpose', 'permute', 'expand', 'repeat', 'repeat_interleave')]
    contiguous, clone, detach, cuda, cpu, sum, mean = [_of_both(n) for n in (
        'contiguous', 'clone', 'detach', 'cuda', 'cpu', 'sum', 'mean')]
    shape, ndim, device, T = [property(lambda self, n=n: getattr(self.real, n)) for n in ('shape', 'ndim', 'device', 'T')]

    def _each(self, f):
        return Complex(f(self.real), f(self.imag))

    def size(self, dim=None):
        return self.real.size() if dim is None else self.real.size(dim)

    def dim(self):
        return self.real.ndim

    def numel(self):
        return self.real.numel()

    def to(self, *args, **kwargs):
        if any([isinstance(a, torch.dtype) for a in args]) or 'dtype' in kwargs:
            refuse('tensors of complex numbers cannot be converted: .real and .imag can')
        return self._each(lambda x: x.to(*args, **kwargs))

    def abs(self):
        return torch.hypot(self.real, self.imag)

    __abs__ = abs

    def angle(self):
        return torch.atan2(self.imag, self.real)

    def conj(self):
        return Complex(self.real, -self.imag)

    def resolve_conj(self):
        return self

    def __getitem__(self, index):
        return self._each(lambda x: x[index])

    def __neg__(self):
        return self._each(lambda x: -x)

    def __len__(self):
        return len(self.real)

    def __add__(self, other):
        if not isinstance(other, Complex):
            return _made(self.real + other, _wide(self.imag, other))
        return _made(self.real + other.real, self.imag + other.imag)
    __radd__ = __add__

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        if not isinstance(other, Complex):
            return self._each(lambda x: x * other)
        return _made(self.real * other.real - self.imag * other.imag, self.real * other.imag + self.imag * other.real)
    __rmul__ = __mul__

    def __truediv__(self, other):
        if not isinstance(other, Complex):
            return self._each(lambda x: x / other)
        return self * other.conj() / (other.real * other.real + other.imag * other.imag)

    def __rtruediv__(self, other):
        return self.conj() * (1 / (self.real * self.real + self.imag * self.imag)) * other

    def exp(self):
        scale = _part(self.real, 'exp')
        return _made(scale * _part(self.imag, 'cos'), scale * _part(self.imag, 'sin'))

    def log(self):
        return Complex(torch.log(self.abs()), self.angle())

    def sqrt(self):
        return polar(torch.sqrt(self.abs()), self.angle() / 2)

    def square(self):
        return self * self

    def __pow__(self, n):
        if isinstance(n, int) and 0 < n <= 8:
            result = self
            for _ in range(n - 1):
                result = result * self
            return result
        return (self.log() * n).exp()

    def __matmul__(self, other):
        if not isinstance(other, Complex):
            return self._each(lambda x: x @ other)
        return Complex(self.real @ other.real - self.imag @ other.imag, self.real @ other.imag + self.imag @ other.real)

    def __rmatmul__(self, other):
        return self._each(lambda x: other @ x)


def _part(x, name):
    """Of exp() and the like, for numbers and tensors."""
    return getattr(torch, name)(x) if isinstance(x, torch.Tensor) else getattr(math, name)(x)


class Number(Complex):
    """complex: both parts are numbers of Python."""

    def __init__(self, real=0.0, imag=0.0):
        if isinstance(real, Number):
            real, imag = real.real - (imag.imag if isinstance(imag, Number) else 0.0), real.imag + _real(imag)
        self.real, self.imag = real, imag

    def _each(self, f):
        real, imag = f(self.real), f(self.imag)
        return Complex(real, imag) if isinstance(real, torch.Tensor) else Number(real, imag)

    def conjugate(self):
        return Number(self.real, -self.imag)

    def __abs__(self):
        return math.hypot(self.real, self.imag)

    def __eq__(self, other):
        return self.real == _real(other) and self.imag == (other.imag if isinstance(other, Number) else 0.0)

    def __repr__(self):
        sign = '-' if self.imag < 0 or str(self.imag)[0] == '-' else '+'
        imag = f'{abs(self.imag):g}j'
        return imag if self.real == 0 and sign == '+' else f'({self.real:g}{sign}{imag})'


def _real(x):
    return x.real if isinstance(x, Number) else x


def _made(real, imag):
    """Of tensors, or of numbers."""
    tensors = isinstance(real, torch.Tensor) or isinstance(imag, torch.Tensor)
    return Complex(real, imag) if tensors else Number(real, imag)


def complex(real, imag):
    return Complex(real, imag)


def polar(abs, angle):
    return Complex(abs * torch.cos(angle), abs * torch.sin(angle))


def view_as_complex(x):
    if x.size(-1) != 2:
        raise RuntimeError('Tensor must have a last dimension of size 2')
    return Complex(x[..., 0], x[..., 1])


def view_as_real(x):
    return torch.stack([x.real, x.imag], -1)


def is_complex(input):
    return isinstance(input, Complex)


def conj(input):
    return input.conj()


conj_physical = conj


def resolve_neg(input):
    return input


resolve_conj = resolve_neg  # no tensor here is a promise of another's conjugate


def imag(input):
    if not isinstance(input, Complex):
        raise RuntimeError('imag is not implemented for tensors with non-complex dtypes.')
    return input.imag


def angle(input):
    return input.angle()
