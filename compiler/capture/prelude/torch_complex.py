"""Tensors of complex numbers, as the pair of tensors that they are made of: enough for what rotates by them.

    torch.view_as_complex(x) * torch.polar(ones, angles)    four products, a sum and a difference

They are no torch.Tensor: what is not below is not there, and they cannot be returned from what is compiled."""
import math
import operator

import torch
import torch.nn.functional as F
from _warpsmith import op, refuse, Parameter, complex_text


def _wide(part, other):
    """A part that other would have been added to the other part of: as large as the sum."""
    grows = isinstance(other, torch.Tensor) and not (isinstance(part, torch.Tensor) and part.shape == other.shape)
    return part + torch.zeros_like(other) if grows else part


def _function(name):
    return getattr(torch.Tensor if hasattr(torch.Tensor, name) else torch if hasattr(torch, name) else F, name)


def _of_both(name):
    def method(self, *args, **kwargs):
        return self._each(lambda x: _function(name)(x, *args, **kwargs))
    return method


def _pieces_of_both(name):
    def method(self, *args, **kwargs):
        real, imag = [getattr(x, name)(*args, **kwargs) for x in (self.real, self.imag)]
        return tuple([Complex(*pair) for pair in zip(real, imag)])
    return method


class Complex:
    is_complex = lambda self: True

    def __init__(self, real, imag):
        self.real, self.imag = real, imag

    view, reshape, flatten, unsqueeze, squeeze, transpose, permute, expand, repeat, repeat_interleave = [_of_both(n) for n in (
        'view', 'reshape', 'flatten', 'unsqueeze', 'squeeze', 'transpose', 'permute', 'expand', 'repeat', 'repeat_interleave')]
    contiguous, clone, detach, cuda, cpu, sum, mean, cumsum, flip, roll, narrow, select, index_select, tril, triu = [
        _of_both(n) for n in ('contiguous', 'clone', 'detach', 'cuda', 'cpu', 'sum', 'mean', 'cumsum', 'flip', 'roll', 'narrow',
                              'select', 'index_select', 'tril', 'triu')]
    movedim, swapaxes, t, unflatten, diagonal = [_of_both(n) for n in ('movedim', 'swapaxes', 't', 'unflatten', 'diagonal')]
    chunk, split, unbind = [_pieces_of_both(n) for n in ('chunk', 'split', 'unbind')]
    shape, ndim, device = [property(lambda self, n=n: getattr(self.real, n)) for n in ('shape', 'ndim', 'device')]
    T, mT = [property(lambda self, n=n: self._each(lambda x: getattr(x, n))) for n in ('T', 'mT')]
    mH = H = property(lambda self: self.mT.conj())

    def _each(self, f):
        return Complex(f(self.real), f(self.imag))

    def cfloat(self, memory_format=None):
        return self._each(lambda x: x.float())

    def cdouble(self, memory_format=None):
        return self._each(lambda x: x.double())

    def size(self, dim=None):
        return self.real.size() if dim is None else self.real.size(dim)

    def dim(self):
        return self.real.ndim

    def numel(self):
        return self.real.numel()

    def to(self, *args, **kwargs):
        if args and isinstance(args[0], (torch.Tensor, Complex)):
            args = [args[0].dtype, *args[1:]]
        if any([isinstance(a, torch.dtype) for a in args]) or isinstance(kwargs.get('dtype'), torch.dtype):
            return self.real.to(*args, **kwargs)  # which leaves the imaginary part behind
        args = [a.part if isinstance(a, DType) else a for a in args]
        kwargs = {k: a.part if isinstance(a, DType) else a for k, a in kwargs.items()}
        return self._each(lambda x: x.to(*args, **kwargs))

    @property
    def dtype(self):
        return complex128 if self.real.dtype == torch.float64 else complex64

    def pad(self, pad, mode='constant', value=None):
        value = 0 if value is None and mode == 'constant' else value
        return Complex(F.pad(self.real, pad, mode, _real(value)), F.pad(self.imag, pad, mode, value if value is None else _imag(value)))

    def abs(self):
        """Of 0 the gradient is 0, as PyTorch's."""
        if not isinstance(self.real, torch.Tensor):
            return math.hypot(self.real, self.imag)
        zero = (self.real == 0) & (self.imag == 0)
        return torch.where(zero, 0, torch.hypot(torch.where(zero, 1, self.real), self.imag))

    __abs__ = abs

    def angle(self):
        return torch.atan2(self.imag, self.real)

    def conj(self):
        return Complex(self.real, -self.imag)

    conj_physical = conj

    def normal_(self, mean=0.0, std=1.0, generator=None):
        for part, middle in ((self.real, _real(mean)), (self.imag, _imag(mean))):
            part.normal_(middle, std * math.sqrt(0.5), generator=generator)
        return self

    def uniform_(self, *args, **kwargs):
        for part in (self.real, self.imag):
            part.uniform_(*args, **kwargs)
        return self

    def istft(self, *args, **kwargs):
        return torch.istft(self, *args, **kwargs)

    def resolve_conj(self):
        return self

    def __getitem__(self, index):
        return self._each(lambda x: x[index])

    def __setitem__(self, index, value):
        self.real[index], self.imag[index] = _real(value), _imag(value)

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
    __rdiv__ = __rtruediv__

    def exp(self):
        scale = _part(self.real, 'exp')
        return _made(scale * _part(self.imag, 'cos'), scale * _part(self.imag, 'sin'))

    def log(self):
        return Complex(torch.log(self.abs()), self.angle())

    def sqrt(self):
        return polar(torch.sqrt(self.abs()), self.angle() / 2)

    def square(self):
        return self * self

    def sinh(self):
        a, b = self.real, self.imag
        return Complex(torch.sinh(a) * torch.cos(b), torch.cosh(a) * torch.sin(b))

    def cosh(self):
        a, b = self.real, self.imag
        return Complex(torch.cosh(a) * torch.cos(b), torch.sinh(a) * torch.sin(b))

    def eq(self, other):
        return (self.real == _real(other)) & (self.imag == _imag(other))

    def ne(self, other):
        return ~self.eq(other)
    __eq__, __ne__ = eq, ne

    def any(self, *args, **kwargs):
        return self.ne(0).any(*args, **kwargs)

    def all(self, *args, **kwargs):
        return self.ne(0).all(*args, **kwargs)

    def norm(self, p='fro', dim=None, keepdim=False, dtype=None):
        if p == 'nuc':
            return torch.linalg.matrix_norm(self, p, (-2, -1) if dim is None else dim, keepdim)
        return torch.norm(self.abs(), p, dim, keepdim)

    def var(self, dim=None, unbiased=None, correction=None, keepdim=False):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return self.real.var(dim, unbiased, correction, keepdim) + self.imag.var(dim, unbiased, correction, keepdim)

    def std(self, *args, **kwargs):
        return self.var(*args, **kwargs).sqrt()

    def where(self, condition, other):
        return _where(condition, self, other)

    def is_floating_point(self):
        return False

    requires_grad = property(lambda self: self.real.requires_grad, lambda self, value: self.requires_grad_(value) and None)
    data = property(detach)
    is_leaf, is_cuda = [property(lambda self, n=n: getattr(self.real, n)) for n in ('is_leaf', 'is_cuda')]

    def requires_grad_(self, requires_grad=True):
        self.real.requires_grad_(requires_grad)
        self.imag.requires_grad_(requires_grad)
        return self

    @property
    def grad(self):
        """None where neither part has one."""
        parts = [self.real.grad, self.imag.grad]
        if parts == [None, None]:
            return None
        return Complex(*[torch.zeros_like(x) if g is None else g for x, g in zip((self.real, self.imag), parts)])

    @grad.setter
    def grad(self, value):
        self.real.grad, self.imag.grad = (None, None) if value is None else (_real(value), _imag(value))

    def __iter__(self):
        return iter(self.unbind())

    def __repr__(self):
        return complex_text(*torch.broadcast_tensors(self.real, self.imag))

    def tolist(self):
        return _paired(Number, self.real.tolist(), self.imag.tolist())

    def item(self):
        return Number(self.real.item(), self.imag.item())

    def __getattr__(self, name):
        """What is called as a function, as a method, and in place. What torch.Tensor makes of other methods works here, too."""
        if name in _FUNCTIONS:
            return lambda *args, **kwargs: _FUNCTIONS[name](self, *args, **kwargs)
        if name in _RESHAPES:
            return lambda *args, **kwargs: self._become(getattr(self, name[:-1])(*args, **kwargs))
        if name[-1:] == '_' and name[-2:] != '__' and (name[:-1] in _FUNCTIONS or hasattr(torch.Tensor, name[:-1])):
            return lambda *args, **kwargs: self._filled(getattr(self, name[:-1])(*args, **kwargs))
        if name[:1] != '_' and hasattr(torch.Tensor, name):
            return lambda *args, **kwargs: getattr(torch.Tensor, name)(self, *args, **kwargs)
        raise AttributeError(f"'Complex' object has no attribute '{name}'")

    def _become(self, value):
        self.real, self.imag = value.real, value.imag
        return self

    def _filled(self, value):
        for part, new in ((self.real, _real(value)), (self.imag, _imag(value))):
            part.copy_(new) if isinstance(new, torch.Tensor) else part.fill_(new)
        return self

    def reciprocal(self):
        return 1 / self

    def sin(self):
        a, b = self.real, self.imag
        return Complex(torch.sin(a) * torch.cosh(b), torch.cos(a) * torch.sinh(b))

    def cos(self):
        a, b = self.real, self.imag
        return Complex(torch.cos(a) * torch.cosh(b), -torch.sin(a) * torch.sinh(b))

    def __pow__(self, n):
        if isinstance(n, int) and 0 < n <= 8:
            result = self
            for _ in range(n - 1):
                result = result * self
            return result
        if not isinstance(self.real, torch.Tensor):
            return (self.log() * n).exp()
        zero = self.eq(0) & (_real(n) >= 0) & (_imag(n) == 0)  # whose logarithm is none
        one = _real(n) == 0  # 0 ** 0
        power = (_where(zero, 1, self).log() * n).exp()
        return _where(zero, torch.where(one, 1.0, 0.0) if isinstance(one, torch.Tensor) else float(one), power)

    def __rpow__(self, base):
        return (self * (math.log(base) if isinstance(base, (int, float)) else base.log())).exp()

    def __matmul__(self, other):
        if not isinstance(other, Complex):
            return self._each(lambda x: x @ other)
        return Complex(self.real @ other.real - self.imag @ other.imag, self.real @ other.imag + self.imag @ other.real)

    def __rmatmul__(self, other):
        if isinstance(other, Complex):
            return other @ self
        return self._each(lambda x: other @ x)


def _part(x, name):
    """Of exp() and the like, for numbers and tensors."""
    return getattr(torch, name)(x) if isinstance(x, torch.Tensor) else getattr(math, name)(x)


class Number(Complex):
    """complex: both parts are numbers of Python."""

    def __init__(self, real=0.0, imag=0.0):
        if isinstance(real, Number):
            real, imag = real.real - (imag.imag if isinstance(imag, Number) else 0.0), real.imag + _real(imag)
        self.real, self.imag = [float(x) if isinstance(x, int) else x for x in (real, imag)]

    def _each(self, f):
        real, imag = f(self.real), f(self.imag)
        return Complex(real, imag) if isinstance(real, torch.Tensor) else Number(real, imag)

    def conjugate(self):
        return Number(self.real, -self.imag)

    def __abs__(self):
        return math.hypot(self.real, self.imag)

    def __eq__(self, other):
        return self.real == _real(other) and self.imag == (other.imag if isinstance(other, Number) else 0.0)

    def __ne__(self, other):
        return not self == other

    def __repr__(self):
        sign, imag = '' if _shortest(self.imag)[0] == '-' else '+', _shortest(self.imag) + 'j'
        return imag if self.real == 0 and math.copysign(1, self.real) > 0 else f'({_shortest(self.real)}{sign}{imag})'


def _shortest(x):
    text = repr(float(x))
    return text[:-2] if text[-2:] == '.0' else text


def _paired(f, a, b):
    """f of the numbers in lists of one shape."""
    return [_paired(f, x, y) for x, y in zip(a, b)] if isinstance(a, list) else f(a, b)


def from_data(data, dtype=None):
    """torch.tensor() of lists with complex numbers."""
    if dtype is not None and not isinstance(dtype, DType):
        refuse('torch.tensor() of complex numbers of a real dtype is not supported')

    def parts(of, x):
        return [parts(of, v) for v in x] if isinstance(x, (list, tuple)) else of(x)
    part = torch.float32 if dtype is None else dtype.part
    return Complex(torch.tensor(parts(_real, data), dtype=part), torch.tensor(parts(lambda x: getattr(x, 'imag', 0.0), data), dtype=part))


def _real(x):
    return x.real if isinstance(x, Complex) else x


def _imag(x):
    return x.imag if isinstance(x, Complex) else torch.zeros_like(x) if isinstance(x, torch.Tensor) else 0.0


def _made(real, imag):
    """Of tensors, or of numbers."""
    tensors = isinstance(real, torch.Tensor) or isinstance(imag, torch.Tensor)
    return Complex(real, imag) if tensors else Number(real, imag)


_RESHAPES = ('squeeze_', 'unsqueeze_', 't_', 'transpose_', 'swapaxes_', 'swapdims_', 'moveaxis_', 'as_strided_', 'resize_')


def parameter(x, requires_grad):
    return x._each(lambda part: Parameter(part, requires_grad))


def complex(real, imag):
    return Complex(*torch.broadcast_tensors(real, imag))


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


# -- functions of torch that are given complex numbers, or a complex dtype ---------------------------


class DType:
    """torch.complex64 and torch.complex128, by the dtype of a part."""
    is_complex, is_floating_point = True, False

    def __init__(self, name, part):
        self.name, self.part = name, part

    def __repr__(self):
        return f'torch.{self.name}'


complex64, complex128 = DType('complex64', torch.float32), DType('complex128', torch.float64)
cfloat, cdouble = complex64, complex128


def _drawn(draw, scale):
    """Numbers whose parts are drawn one by one: of randn, they have a variance of one together."""
    def function(*size, dtype, **kwargs):
        return Complex(draw(*size, dtype=dtype, **kwargs) * scale, draw(*size, dtype=dtype, **kwargs) * scale)
    return function


def _full(size, value, dtype=None, **kwargs):
    return Complex(torch.full(size, _real(value), dtype=dtype, **kwargs), torch.full(size, _imag(value), dtype=dtype, **kwargs))


def _joined(name):
    def function(tensors, *args, **kwargs):
        f = getattr(torch, name)
        return Complex(f([_real(x) for x in tensors], *args, **kwargs), f([_imag(x) for x in tensors], *args, **kwargs))
    return function


def _where(condition, x, y):
    return Complex(torch.where(condition, _real(x), _real(y)), torch.where(condition, _imag(x), _imag(y)))


_FUNCTIONS = {'add': lambda x, y, alpha=1: x + y * alpha, 'sub': lambda x, y, alpha=1: x - y * alpha, 'mul': operator.mul,
              'div': operator.truediv, 'pow': operator.pow, 'neg': operator.neg, 'full': _full, 'where': _where,
              'matmul': operator.matmul, 'mm': operator.matmul, 'bmm': operator.matmul, 'mv': operator.matmul,
              'true_divide': operator.truediv, 'divide': operator.truediv, 'multiply': operator.mul, 'subtract': operator.sub}


def _like(name):
    """Tensors that have the shape of x, or its type, or both; a real dtype makes real ones."""
    def function(x, *args, dtype=None, **options):
        f = _function(name)
        if isinstance(dtype, torch.dtype):
            return f(_real(x), *args, dtype=dtype, **options)
        if dtype is not None:
            options['dtype'] = dtype.part
        if 'full' in name:
            size, value = ([], args[0]) if args and name == 'full_like' else (args[:1], args[-1] if len(args) > 1 else options.pop('fill_value'))
            return Complex(f(_real(x), *size, _real(value), **options), f(_real(x), *size, _imag(value), **options))
        real = f(_real(x), *args, **options)
        if 'rand' not in name:
            return Complex(real, torch.zeros_like(real))
        return Complex(real, f(_real(x), *args, **options)) * (math.sqrt(0.5) if name == 'randn_like' else 1.0)
    return function


_LIKE = {name: _like(name) for name in ('zeros_like', 'ones_like', 'empty_like', 'full_like', 'rand_like', 'randn_like',
                                        'new_zeros', 'new_ones', 'new_empty', 'new_full')}
_FUNCTIONS.update(_LIKE)


def _with(x):
    """A real one as a complex one."""
    return x if isinstance(x, Complex) else Complex(x, _imag(x))


def _bilinear(f, x, y):
    """f is linear in both."""
    a, b, c, d = _real(x), _imag(x), _real(y), _imag(y)
    return Complex(f(a, c) - f(b, d), f(a, d) + f(b, c))


def _convolution(input, weight, bias=None, *args, **kwargs):
    out = _bilinear(lambda x, w: op('convolution')(x, w, None, *args, **kwargs), input, weight)
    return out if bias is None else out + bias.view(*[-1] + [1] * (out.ndim - (2 if input.ndim == weight.ndim else 1)))


def _addmm(self, mat1, mat2, *, beta=1, alpha=1):
    product = mat1 @ mat2
    return product * alpha + self * beta if beta != 0 else product * alpha


def _linear(input, weight, bias=None):
    out = input @ weight.transpose(-1, -2) if weight.ndim > 1 else input @ weight
    return out if bias is None else out + bias


_FUNCTIONS.update({
    'convolution': _convolution, 'addmm': _addmm, 'baddbmm': _addmm, 'linear': _linear, 'rsqrt': lambda x: 1 / x.sqrt(),
    'tanh': lambda x: x.sinh() / x.cosh(), 'tan': lambda x: x.sin() / x.cos(), 'sigmoid': lambda x: 1 / (1 + (-x).exp()),
    'silu': lambda x: x / (1 + (-x).exp()), 'log2': lambda x: x.log() / math.log(2), 'log10': lambda x: x.log() / math.log(10),
    'exp2': lambda x: (x * math.log(2)).exp(), 'ne': lambda x, y: _with(x).ne(y), 'eq': lambda x, y: _with(x).eq(y)})
# Operators that move or add up elements: of both parts alike.
_FUNCTIONS.update({n: lambda x, *args, n=n, **kwargs: x._each(lambda part: op(n)(part, *args, **kwargs)) for n in (
    'slice', 'index', 'gather', 'take', 'take_along_dim', 'tile', 'unfold', 'diag')})
_FUNCTIONS.update({n: _joined(n) for n in ('cat', 'concat', 'stack', 'hstack', 'vstack', 'dstack')})


def _of_parts(name):
    """Linear in all that is complex, as index_add(x, dim, index, source): of the real parts, and of the imaginary ones."""
    def function(*args, **kwargs):
        real, imag = [op(name)(*[part(a) for a in args], **{k: part(a) for k, a in kwargs.items()}) for part in (
            _real, lambda a: a.imag if isinstance(a, Complex) else a)]
        return Complex(real, imag)
    return function


def _filled(x, name, where, value):
    """masked_fill(x, mask, value)"""
    return Complex(op(name)(x.real, where, _real(value)), op(name)(x.imag, where, _imag(value)))


def _scatter(x, dim, index, src, **kwargs):
    return Complex(op('scatter')(x.real, dim, index, _real(src), **kwargs), op('scatter')(x.imag, dim, index, _imag(src), **kwargs))


def _var(x, *args, **kwargs):
    """As the operator is called: dim, correction, keepdim."""
    return op('var')(x.real, *args, **kwargs) + op('var')(x.imag, *args, **kwargs)


def _over(x, dim, f, step=lambda a, b: a * b):
    """Products along dim, or what else a step makes of two, one after the other."""
    if not x.ndim:
        return x
    out = [x.select(dim, 0)]
    for i in range(1, x.size(dim)):
        out.append(step(out[-1], x.select(dim, i)))
    return f(out)


def _prod(x, dim=None, keepdim=False):
    x, dim = (x.reshape(-1), 0) if dim is None else (x, dim)
    if x.ndim and not x.size(dim):
        return x.sum(dim, keepdim) + 1
    y = _over(x, dim, lambda steps: steps[-1])
    return y.unsqueeze(dim) if keepdim and x.ndim else y


def _cumprod(x, dim):
    return _over(x, dim, lambda steps: torch.stack(steps, dim)) if x.numel() else x


def _in_f64(f):
    """Where what is subtracted is nearly equal."""
    return lambda x: f(x.cdouble()).to(x.dtype)


def _logaddexp(x, y):
    """Angles go on behind pi, as they are added to the larger one's."""
    first = _real(x) >= _real(y)
    high, low = _where(first, x, y), _where(first, y, x)
    return high + ((low - high).exp() + 1).log()


def _logcumsumexp(x, dim):
    return _over(x, dim, lambda steps: torch.stack(steps, dim), _logaddexp) if x.numel() else x


def _turn(x):
    """i times x"""
    return Complex(-x.imag, x.real)


_asinh = lambda x: (x + (x * x + 1).sqrt()).log()
_atanh = lambda x: ((x + 1).log() - (1 - x).log()) / 2


def _exponentials(x, dim):
    """e^(x - m), and m: the largest real part along dim."""
    most = x.real.detach().amax(dim, True)
    return (x - torch.where(most.isfinite(), most, 0)).exp(), torch.where(most.isfinite(), most, 0)


def _logsumexp(x, dim, keepdim=False):
    e, most = _exponentials(x, dim)
    out = e.sum(dim, True).log() + most
    return out if keepdim else out.squeeze(dim)


def _softmax(x, dim, dtype=None):
    if dtype is not None:
        return torch.softmax(x.real, dim, dtype)
    e, _ = _exponentials(x, dim)
    return e / e.sum(dim, True)


def _log_softmax(x, dim, dtype=None):
    if dtype is not None:
        return torch.log_softmax(x.real, dim, dtype)
    return x - _logsumexp(x, dim, True)


def _sgn(x):
    size = x.abs()
    return x / torch.where(size == 0, 1, size)


_FUNCTIONS.update({n: _of_parts(n) for n in ('index_add', 'scatter_add', 'index_put', 'nan_to_num', 'im2col')})
_FUNCTIONS.update({
    'masked_fill': lambda x, mask, value: _filled(_with(x), 'masked_fill', mask, value),
    'constant_pad_nd': lambda x, pad, value=0: _filled(x, 'constant_pad_nd', pad, value),
    'lerp': lambda x, y, weight: x + (y - x) * weight, 'expm1': lambda x: x.exp() - 1, 'log1p': lambda x: (x + 1).log(),
    'addcmul': lambda x, a, b, value=1: x + a * b * value, 'addcdiv': lambda x, a, b, value=1: x + a / b * value,
    'positive': lambda x: x, 'sign': _sgn, 'scatter': _scatter, 'var': _var, 'std': lambda *args, **kwargs: _var(*args, **kwargs).sqrt(),
    'tanhshrink': lambda x: x - x.tanh(), 'softsign': lambda x: x / (x.abs() + 1),
    'prod': _prod, 'cumprod': _cumprod, 'softmax': _softmax, 'logaddexp': _logaddexp,
    'asinh': _in_f64(_asinh), 'acosh': _in_f64(lambda x: (x + (x + 1).sqrt() * (x - 1).sqrt()).log()), 'atanh': _in_f64(_atanh),
    'asin': _in_f64(lambda x: -_turn(_asinh(_turn(x)))), 'acos': _in_f64(lambda x: _turn(_asinh(_turn(x))) + math.pi / 2),
    'atan': _in_f64(lambda x: -_turn(_atanh(_turn(x)))), 'nonzero': lambda x, **options: x.ne(0).nonzero(**options),
    'normalize': lambda x, p=2.0, dim=1, eps=1e-12: x / x.norm(p, dim, True).clamp(min=eps),
    'logsumexp': _logsumexp, 'logcumsumexp': _logcumsumexp, 'log_softmax': _log_softmax,
    'logical_not': lambda x: _with(x).eq(0), 'logical_and': lambda x, y: _with(x).ne(0) & _with(y).ne(0),
    'logical_or': lambda x, y: _with(x).ne(0) | _with(y).ne(0), 'logical_xor': lambda x, y: _with(x).ne(0) ^ _with(y).ne(0),
    'isnan': lambda x: x.real.isnan() | x.imag.isnan(), 'isinf': lambda x: x.real.isinf() | x.imag.isinf(),
    'isfinite': lambda x: x.real.isfinite() & x.imag.isfinite(), 'isreal': lambda x: x.imag == 0, 'bool': lambda x: x.ne(0),
    'zero_': lambda x: x._filled(0), 'fill_': lambda x, value: x._filled(value),
    'expand_as': lambda x, other: x.expand(other.shape), 'reshape_as': lambda x, other: x.reshape(other.shape),
    'view_as': lambda x, other: x.view(other.shape), 'broadcast_to': lambda x, size: x.expand(size),
    'l1_loss': lambda x, y, reduction='mean': (lambda d: d if reduction == 'none' else d.sum() if reduction == 'sum' else d.mean())((x - y).abs())})
_FUNCTIONS.update({n: lambda x, n=n, **kwargs: getattr(x.real, n)(**kwargs) for n in (
    'double', 'float', 'half', 'bfloat16', 'long', 'int', 'short', 'char', 'byte')})
_MADE = {'rand': _drawn(torch.rand, 1.0), 'randn': _drawn(torch.randn, math.sqrt(0.5)), 'full': _full}


def called(name, args, kwargs):
    """torch.NAME(*args, **kwargs), where one of them is a complex number, a tensor of these, or a dtype."""
    name, dtype = name.split('.')[-1], kwargs.get('dtype')
    if name in _LIKE:
        return _LIKE[name](*args, **kwargs)
    dtypes = [a for a in args if isinstance(a, DType)] + ([dtype] if isinstance(dtype, DType) else [])
    if dtypes:
        args = [a for a in args if not isinstance(a, DType)]
        kwargs = {**kwargs, 'dtype': dtypes[0].part}
    if dtypes and name in ('to', 'type', 'cast', 'convert'):
        real = _real(args[0]).to(dtypes[0].part)
        return Complex(real, _imag(args[0]).to(dtypes[0].part) if isinstance(args[0], Complex) else torch.zeros_like(real))
    if dtypes and name in _MADE:
        return _MADE[name](*args, **kwargs)
    if dtypes and name in ('zeros', 'ones', 'empty', 'eye', 'arange', 'linspace'):
        real = getattr(torch, name)(*[_real(a) for a in args], **kwargs)
        return Complex(real, torch.zeros_like(real))
    if dtypes and args and isinstance(args[0], Complex):  # as x.sum(dtype=torch.complex128)
        args = [args[0].to(dtypes[0]), *args[1:]]
        kwargs = {k: v for k, v in kwargs.items() if k != 'dtype'}
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](*args, **kwargs)
    if not args or not isinstance(args[0], Complex) or not hasattr(Complex, name):
        refuse(f'torch.{name} of complex numbers is not supported')
    return getattr(args[0], name)(*args[1:], **kwargs)


def einsum(equation, operands):
    """It is linear in each operand: a sum over the choices of a part of each, times i for the imaginary ones."""
    parts = [[(x.real, 0), (x.imag, 1)] if isinstance(x, Complex) else [(x, 0)] for x in operands]
    total = {0: None, 1: None}
    choices = [([], 0)]
    for of_one in parts:
        choices = [(chosen + [x], turns + turn) for chosen, turns in choices for x, turn in of_one]
    for chosen, turns in choices:
        term = torch.einsum(equation, *chosen)
        term = -term if turns % 4 > 1 else term
        total[turns % 2] = term if total[turns % 2] is None else total[turns % 2] + term
    return Complex(total[0], total[1])
