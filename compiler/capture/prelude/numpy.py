"""numpy: arrays are tensors that count in f64 and print as numpy's do; what would be of no dimension is a number.

    np.arange(3) / 2          ndarray of torch.arange(3).double() / 2
    np.sqrt(64)               8.0, no tensor
"""
import math
import torch
from math import pi, e, inf, nan
from _warpsmith import refuse

_abs, _max, _min, _round, _sum, _all, _any, _bool = abs, max, min, round, sum, all, any, bool
newaxis = None
_unsigned = ('uint16', 'uint32', 'uint64')  # names that tables of dtypes have; arrays of them are refused
Inf = infty = inf


class dtype:
    def __init__(self, name, of=None):
        known = None if of or name in _unsigned else _dtype(name)
        self.name, self._of = (known.name, known._of) if known else (name, of)
        self.itemsize = torch.empty(0, dtype=self._of).element_size() if self._of else int(self.name[4:]) // 8

    @property
    def kind(self):
        return self.name[0]

    @property
    def str(self):
        return ('<' if self.itemsize > 1 else '|') + self.kind + f'{self.itemsize}'

    def __call__(self, value=0):
        if not isinstance(value, (int, float, str)):
            return asarray(value).astype(self)
        return float(value) if self._of.is_floating_point else _bool(value) if self._of == torch.bool else int(value)

    def __eq__(self, other):
        other = _dtype(other)
        return other is not None and self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"dtype('{self.name}')"


float64, float32, float16 = dtype('float64', torch.float64), dtype('float32', torch.float32), dtype('float16', torch.float16)
int64, int32, int16, int8 = [dtype('int' + str(8 * 2 ** i), t) for i, t in
                             ((3, torch.int64), (2, torch.int32), (1, torch.int16), (0, torch.int8))]
uint8, bool_ = dtype('uint8', torch.uint8), dtype('bool', torch.bool)
str_, object_ = str, object  # as annotations have them
double, single, half, float_, int_, intp, long = float64, float32, float16, float64, int64, int64, int64
_dtypes = [float64, float32, float16, int64, int32, int16, int8, uint8, bool_]
_by_name = {d.name: d for d in _dtypes}
_by_name.update({name: dtype(name) for name in _unsigned})
uint16, uint32, uint64 = [_by_name[name] for name in _unsigned]
_by_name.update({'float': float64, 'int': int64, 'f8': float64, 'f4': float32, 'f2': float16, 'i8': int64, 'i4': int32, 'u1': uint8})


class floating:
    pass


class integer:
    pass


number = generic = (int, float)


def finfo(dtype):
    return torch.finfo(_of(dtype))


class _Wide:
    """iinfo of what no tensor is of."""
    min = 0

    def __init__(self, dtype):
        self.dtype, self.bits = dtype, 8 * dtype.itemsize
        self.max = 2**self.bits - 1


def iinfo(dtype):
    d = _dtype(dtype)
    return _Wide(d) if d is not None and d._of is None else torch.iinfo(_of(dtype))


def _dtype(x):
    if x is None or isinstance(x, dtype):
        return x
    if isinstance(x, str):
        if x not in _by_name:
            raise TypeError(f"data type '{x}' not understood")
        return _by_name[x]
    for kind, d in ((float, float64), (_bool, bool_), (int, int64)):
        if x is kind:
            return d
    return None


def _of(x):
    d = _dtype(x)
    if d is not None and d._of is None:
        refuse(f'a numpy array of {d.name} is not supported')
    return None if d is None else d._of


def _astype(x, dtype):
    """Of a plain number, which is what is of no dimension here."""
    d = _of(dtype)
    return float(x) if d is torch.float64 else torch.tensor(x).to(d).item()


# -- from and to tensors


def _kind(x):
    """What a list counts in."""
    if isinstance(x, (list, tuple)):
        kinds = [_kind(item) for item in x]
        for d in (torch.float64, torch.int64, torch.bool):
            if d in kinds:
                return d
        return torch.float64
    if not isinstance(x, (int, float)):
        refuse(f'a numpy array of {type(x).__name__} is not supported')
    return torch.bool if isinstance(x, _bool) else torch.int64 if isinstance(x, int) else torch.float64


def _holds_arrays(x):
    return isinstance(x, (ndarray, torch.Tensor)) or isinstance(x, (list, tuple)) and _any([_holds_arrays(i) for i in x])


def _t(x):
    """The tensor of whatever may stand where an array does."""
    if isinstance(x, ndarray):
        return x._t
    if isinstance(x, torch.Tensor):
        return x.detach()
    if isinstance(x, range):
        x = list(x)
    if isinstance(x, (list, tuple)) and _holds_arrays(x):
        parts = [_t(item) for item in x]
        return _stacked(parts, 0)
    return torch.tensor(x, dtype=_kind(x))


def _stacked(parts, axis):
    return torch.stack(_alike(parts), axis)


def _floats(t):
    return t if t.is_floating_point() else t.double()


def _wide(t):
    return t.dtype == torch.int64 or t.dtype == torch.int32


def _alike(parts):
    """Integers beside floats are counted in f64."""
    floats = [t.is_floating_point() for t in parts]
    if _any(floats) and _any([_wide(t) for t in parts]):
        return [t.double() for t in parts]
    kind = parts[0].dtype
    for t in parts:
        kind = torch.promote_types(kind, t.dtype)
    return [t.to(kind) for t in parts]


def _out(t):
    return t.item() if t.ndim == 0 else ndarray(t)


def _of_elements(t, *given):
    """What a function of elements gives: of tensors, as numpy asks them to say, a tensor."""
    return t if _any([isinstance(x, torch.Tensor) for x in given]) else _out(t)


def _is_number(x):
    return isinstance(x, (int, float))


def _into(out, value):
    return value if out is None else out._update(value)


def _binary(function):
    def run(a, b, out=None):
        return _into(out, _of_elements(of_two(a, b), a, b))

    def of_two(a, b):
        if _is_number(a):
            b = _t(b)
            return function(a, b.double() if isinstance(a, float) and not b.is_floating_point() else b)
        a = _t(a)
        if _is_number(b):
            return function(a.double() if isinstance(b, float) and not a.is_floating_point() else a, b)
        a, b = _alike([a, _t(b)])
        return function(a, b)
    return run


_add, _sub, _mul = _binary(lambda a, b: a + b), _binary(lambda a, b: a - b), _binary(lambda a, b: a * b)
_div = _binary(lambda a, b: (_floats(a) if isinstance(a, torch.Tensor) else a) / (_floats(b) if isinstance(b, torch.Tensor) else b))
_floordiv, _mod, _pow = _binary(lambda a, b: a // b), _binary(lambda a, b: a % b), _binary(lambda a, b: a ** b)
_and, _or, _xor = _binary(lambda a, b: a & b), _binary(lambda a, b: a | b), _binary(lambda a, b: a ^ b)
_eq, _ne, _lt = _binary(lambda a, b: a == b), _binary(lambda a, b: a != b), _binary(lambda a, b: a < b)
_le, _gt, _ge = _binary(lambda a, b: a <= b), _binary(lambda a, b: a > b), _binary(lambda a, b: a >= b)
_mm = _binary(lambda a, b: a @ b)


class ndarray:
    __hash__ = None

    def __init__(self, t):
        self._t = t

    shape = property(lambda self: tuple(self._t.shape))
    ndim = property(lambda self: self._t.ndim)
    size = property(lambda self: self._t.numel())
    dtype = property(lambda self: [d for d in _dtypes if d._of == self._t.dtype][0])
    itemsize = property(lambda self: self._t.element_size())
    nbytes = property(lambda self: self._t.element_size() * self._t.numel())
    T = property(lambda self: self.transpose())
    flat = property(lambda self: self.ravel())

    def __len__(self):
        if not self._t.ndim:
            raise TypeError('len() of unsized object')
        return self._t.shape[0]

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]

    def __contains__(self, value):
        return _any([v == value for v in self._t.reshape(-1).tolist()])

    def _at(self, index):
        """The tensor and the index as torch knows it: steps backwards are a turn of their dimension."""
        parts, t, out = index if isinstance(index, tuple) else (index,), self._t, []
        used = len([p for p in parts if p is not None and p is not Ellipsis])
        d = 0
        for p in parts:
            if isinstance(p, slice) and p.step is not None and p.step < 0:
                t, p = t.index_select(d, torch.tensor(list(range(t.shape[d]))[p], dtype=torch.int64)), slice(None)
            out.append(_t(p) if isinstance(p, (ndarray, list, range)) else p)
            d += t.ndim - used if p is Ellipsis else 0 if p is None else out[-1].ndim if _is_mask(out[-1]) else 1
        return t, tuple(out) if isinstance(index, tuple) else out[0]

    def __getitem__(self, index):
        t, at = self._at(index)
        return _out(t[at])

    def __setitem__(self, index, value):
        t, at = self._at(index)
        if t is not self._t:
            refuse('assigning to a numpy array from its end is not supported')
        t[at] = value if _is_number(value) else _t(value).to(t.dtype)

    def __repr__(self):
        usual = self.dtype.name in ('float64', 'int64', 'bool')
        return 'array(' + _text(self, ', ', ' ' * 6) + (')' if usual else f', dtype={self.dtype})')

    def __str__(self):
        return _text(self, ' ', '')

    def __format__(self, spec):
        if spec and self.ndim:
            raise TypeError('unsupported format string passed to numpy.ndarray.__format__')
        return format(self.item(), spec) if spec else str(self)

    def __bool__(self):
        if self.size != 1:
            raise ValueError('The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()')
        return _bool(self.item())

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __index__(self):
        return self.item()

    __add__ = __radd__ = lambda self, other: _add(self, other)
    __sub__, __rsub__ = lambda self, other: _sub(self, other), lambda self, other: _sub(other, self)
    __mul__ = __rmul__ = lambda self, other: _mul(self, other)
    __truediv__, __rtruediv__ = lambda self, other: _div(self, other), lambda self, other: _div(other, self)
    __floordiv__, __rfloordiv__ = lambda self, other: _floordiv(self, other), lambda self, other: _floordiv(other, self)
    __mod__, __rmod__ = lambda self, other: _mod(self, other), lambda self, other: _mod(other, self)
    __pow__, __rpow__ = lambda self, other: _pow(self, other), lambda self, other: _pow(other, self)
    __matmul__, __rmatmul__ = lambda self, other: _mm(self, other), lambda self, other: _mm(other, self)
    __and__ = __rand__ = lambda self, other: _and(self, other)
    __or__ = __ror__ = lambda self, other: _or(self, other)
    __xor__ = __rxor__ = lambda self, other: _xor(self, other)
    __eq__, __ne__ = lambda self, other: _eq(self, other), lambda self, other: _ne(self, other)
    __lt__, __le__ = lambda self, other: _lt(self, other), lambda self, other: _le(self, other)
    __gt__, __ge__ = lambda self, other: _gt(self, other), lambda self, other: _ge(self, other)
    __neg__, __abs__ = lambda self: ndarray(-self._t), lambda self: ndarray(self._t.abs())
    __invert__ = lambda self: ndarray(~self._t)

    def _update(self, t):
        self._t.copy_(_t(t))
        return self

    __iadd__, __isub__ = lambda self, other: self._update(self + other), lambda self, other: self._update(self - other)
    __imul__, __itruediv__ = lambda self, other: self._update(self * other), lambda self, other: self._update(self / other)

    def reshape(self, *shape):
        return ndarray(self._t.reshape(*shape))

    def transpose(self, *axes):
        axes = axes[0] if len(axes) == 1 and not _is_number(axes[0]) else axes
        return ndarray(self._t.permute(*(axes or range(self.ndim - 1, -1, -1))))

    def astype(self, dtype, copy=True):
        return ndarray(self._t.to(_of(dtype), copy=True))

    def item(self, *at):
        return self._t[at].item() if at else self._t.item()

    def tolist(self):
        return self._t.tolist()

    def fill(self, value):
        self._t.fill_(value)

    def copy(self):
        return ndarray(self._t.clone())

    def flatten(self):
        return ndarray(self._t.reshape(-1).clone())

    def ravel(self):
        return ndarray(self._t.reshape(-1))

    def squeeze(self, axis=None):
        return ndarray(self._t.squeeze() if axis is None else self._t.squeeze(axis))

    def swapaxes(self, a, b):
        return ndarray(self._t.transpose(a, b))

    def sort(self, axis=-1):
        self._t.copy_(self._t.sort(axis)[0])


def _is_mask(x):
    return isinstance(x, torch.Tensor) and x.dtype == torch.bool


# -- made


def array(object, dtype=None, copy=True):
    t, of = _t(object), _of(dtype)
    t = t.clone() if isinstance(object, (ndarray, torch.Tensor)) else t
    return ndarray(t if of is None else t.to(of))


def asarray(a, dtype=None):
    return a if isinstance(a, ndarray) and (dtype is None or a.dtype == dtype) else array(a, dtype)


ascontiguousarray = asanyarray = asarray


def _maker(function):
    def run(shape, dtype=float64):
        return ndarray(function(shape, dtype=_of(dtype)))
    return run


zeros, ones, empty = _maker(torch.zeros), _maker(torch.ones), _maker(torch.zeros)


def full(shape, fill_value, dtype=None):
    return ndarray(torch.full([shape] if isinstance(shape, int) else shape, fill_value, dtype=_of(dtype) or _kind(fill_value)))


def zeros_like(a, dtype=None):
    return ndarray(torch.zeros_like(_t(a), dtype=_of(dtype)))


def ones_like(a, dtype=None):
    return ndarray(torch.ones_like(_t(a), dtype=_of(dtype)))


empty_like = zeros_like


def full_like(a, fill_value, dtype=None):
    return ndarray(torch.full_like(_t(a), fill_value, dtype=_of(dtype)))


def eye(N, M=None, k=0, dtype=float64):
    M = M or N
    if not k:
        return ndarray(torch.eye(N, M, dtype=_of(dtype)))
    return ndarray((torch.arange(N)[:, None] + k == torch.arange(M)).to(_of(dtype)))


identity = eye


def arange(start, stop=None, step=1, dtype=None):
    start, stop = (0, start) if stop is None else (start, stop)
    of = torch.int64 if _all([isinstance(v, int) for v in (start, stop, step)]) else torch.float64
    n = _max(math.ceil((stop - start) / step), 0)
    return ndarray((torch.arange(n, dtype=of) * step + start).to(_of(dtype) or of))


def linspace(start, stop, num=50, endpoint=True, dtype=None):
    step = (stop - start) / _max(num - 1 if endpoint else num, 1)
    t = torch.arange(num, dtype=torch.float64) * step + start
    if endpoint and num > 1:
        t[num - 1] = stop
    return ndarray(t.to(_of(dtype) or torch.float64))


def logspace(start, stop, num=50, base=10.0):
    return power(base, linspace(start, stop, num))


def meshgrid(*xi, indexing='xy'):
    return [ndarray(t.contiguous()) for t in torch.meshgrid(*[_t(x) for x in xi], indexing=indexing)]


class _Grid:
    """np.ogrid[:3, 2:4]: places along each axis; np.mgrid: of all axes, as one array."""

    def __init__(self, dense):
        self._dense = dense

    def __getitem__(self, index):
        axes = [arange(i.start or 0, i.stop, i.step or 1) for i in (index if isinstance(index, tuple) else (index,))]
        if not isinstance(index, tuple):
            return axes[0]
        if self._dense:
            return stack(meshgrid(*axes, indexing='ij'))
        n = len(axes)
        return [a.reshape([-1 if k == i else 1 for k in range(n)]) for i, a in enumerate(axes)]


ogrid, mgrid = _Grid(False), _Grid(True)


# -- element by element


def _elementwise(of_number, function):
    def run(x, out=None):
        return _into(out, of_number(x) if _is_number(x) else _of_elements(function(_floats(_t(x))), x))
    return run


sqrt, exp, log = _elementwise(math.sqrt, torch.sqrt), _elementwise(math.exp, torch.exp), _elementwise(math.log, torch.log)
log2, log10 = _elementwise(math.log2, torch.log2), _elementwise(math.log10, torch.log10)
sin, cos, tan = _elementwise(math.sin, torch.sin), _elementwise(math.cos, torch.cos), _elementwise(math.tan, torch.tan)
arcsin, arccos = _elementwise(math.asin, torch.asin), _elementwise(math.acos, torch.acos)
arctan, tanh = _elementwise(math.atan, torch.atan), _elementwise(math.tanh, torch.tanh)
sinh, cosh = _elementwise(math.sinh, torch.sinh), _elementwise(math.cosh, torch.cosh)
log1p, expm1 = _elementwise(math.log1p, torch.log1p), _elementwise(math.expm1, torch.expm1)
floor, ceil = _elementwise(lambda x: float(math.floor(x)), torch.floor), _elementwise(lambda x: float(math.ceil(x)), torch.ceil)
isnan, isinf = _elementwise(math.isnan, torch.isnan), _elementwise(math.isinf, torch.isinf)
isfinite = _elementwise(math.isfinite, torch.isfinite)
deg2rad = radians = _elementwise(math.radians, torch.deg2rad)


def abs(x):
    return _abs(x) if _is_number(x) else _of_elements(_t(x).abs(), x)


absolute = fabs = abs


def sign(x):
    return type(x)((x > 0) - (x < 0)) if _is_number(x) else _of_elements(_t(x).sign(), x)


def square(x):
    return x * x if _is_number(x) else _mul(x, x)


def round(x, decimals=0):
    return _round(x, decimals) if _is_number(x) else _out(torch.round(_t(x), decimals=decimals))


around = round


def _of_two(of_numbers, function=None):
    """Of two numbers what Python says, else `function` of tensors, if that is another."""
    binary = _binary(function or of_numbers)

    def run(a, b, out=None):
        return of_numbers(a, b) if _is_number(a) and _is_number(b) and out is None else binary(a, b, out)
    return run


def _tensors(function):
    """Of a function that takes no numbers."""
    return lambda a, b: function(*torch.broadcast_tensors(*[x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=y.dtype)
                                                            for x, y in ((a, b), (b, a))]))


maximum, minimum = _of_two(_max, _tensors(torch.maximum)), _of_two(_min, _tensors(torch.minimum))
arctan2 = _of_two(math.atan2, _tensors(torch.atan2))
power = float_power = _of_two(lambda a, b: a ** b)
add, subtract, multiply = _of_two(lambda a, b: a + b), _of_two(lambda a, b: a - b), _of_two(lambda a, b: a * b)
divide = lambda a, b: a / b if _is_number(a) and _is_number(b) else _div(a, b)
mod = remainder = _of_two(lambda a, b: a % b)
true_divide, equal, not_equal, less, greater = divide, _eq, _ne, _lt, _gt
logical_and, logical_or = _binary(torch.logical_and), _binary(torch.logical_or)


def logical_not(x):
    return _out(~_t(x).bool())


def clip(a, a_min=None, a_max=None):
    if _is_number(a):
        return _min(_max(a, a_min), a_max)
    return _of_elements(_t(a).clamp(a_min, a_max), a)


def where(condition, x=None, y=None):
    c = _t(condition)
    if x is None:
        return tuple([ndarray(t) for t in torch.nonzero(c, as_tuple=True)])
    x, y = _alike([_t(x), _t(y)])
    return _out(torch.where(c.bool(), x, y))


def isclose(a, b, rtol=1e-5, atol=1e-8):
    return abs(_sub(a, b)) <= atol + rtol * abs(asarray(b))


def allclose(a, b, rtol=1e-5, atol=1e-8):
    return _bool(all(isclose(asarray(a), asarray(b), rtol, atol)))


def array_equal(a, b):
    return _t(a).shape == _t(b).shape and _bool(all(_eq(asarray(a), asarray(b))))


# -- reductions, which are methods, too


def _reduction(function):
    def run(a, axis=None, keepdims=False, dtype=None):
        t = _t(a)
        t = t if dtype is None else t.to(_of(dtype))
        dims = list(range(t.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
        return _out(function(t, dims, keepdims))
    return run


sum = _reduction(lambda t, dims, keep: t.sum(dims, keep))
mean = _reduction(lambda t, dims, keep: _floats(t).mean(dims, keep))
max = amax = _reduction(lambda t, dims, keep: t.amax(dims, keep))
min = amin = _reduction(lambda t, dims, keep: t.amin(dims, keep))
all = _reduction(lambda t, dims, keep: t.bool().int().amin(dims, keep).bool())
any = _reduction(lambda t, dims, keep: t.bool().int().amax(dims, keep).bool())
ptp = _reduction(lambda t, dims, keep: t.amax(dims, keep) - t.amin(dims, keep))


def prod(a, axis=None, keepdims=False):
    if axis is None and isinstance(a, (list, tuple)) and not _holds_arrays(a):
        return math.prod(a)
    t = _t(a)
    return _out(t.prod() if axis is None else t.prod(axis, keepdims))


def var(a, axis=None, ddof=0, keepdims=False):
    t = _floats(_t(a))
    return _out(t.var(list(range(t.ndim)) if axis is None else axis, correction=ddof, keepdim=keepdims))


def std(a, axis=None, ddof=0, keepdims=False):
    return sqrt(var(a, axis, ddof, keepdims))


def average(a, axis=None, weights=None):
    if weights is None:
        return mean(a, axis)
    return sum(_mul(a, weights), axis) / sum(weights, axis)


def median(a, axis=None):
    t = _floats(_t(a))
    return _out(torch.quantile(t, 0.5) if axis is None else torch.quantile(t, 0.5, dim=axis))


def percentile(a, q, axis=None):
    t = _floats(_t(a))
    return _out(torch.quantile(t, q / 100) if axis is None else torch.quantile(t, q / 100, dim=axis))


def argmax(a, axis=None):
    return _out(_t(a).argmax() if axis is None else _t(a).argmax(axis))


def argmin(a, axis=None):
    return _out(_t(a).argmin() if axis is None else _t(a).argmin(axis))


def _running(function):
    def run(a, axis=None):
        t = _t(a)
        return ndarray(function(t.reshape(-1), 0) if axis is None else function(t, axis))
    return run


cumsum, cumprod = _running(torch.cumsum), _running(torch.cumprod)


def count_nonzero(a):
    return sum(_ne(asarray(a), 0))


def sort(a, axis=-1):
    return ndarray(_t(a).sort(axis)[0])


def argsort(a, axis=-1):
    return ndarray(_t(a).argsort(axis, stable=True))


def unique(ar, return_counts=False):
    values, counts = torch.unique(_t(ar), return_counts=True)
    return (ndarray(values), ndarray(counts)) if return_counts else ndarray(values)


def nonzero(a):
    return where(a)


def argwhere(a):
    return ndarray(torch.argwhere(_t(a)))


def resize(a, new_shape):
    """What a has, again and again, until the shape is full."""
    flat, shape = _t(a).reshape(-1), (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    n = math.prod(shape)
    return ndarray(flat.repeat(-(-n // flat.numel()))[:n].reshape(shape))


class poly1d:
    """A polynomial by its coefficients, the highest power's first."""

    def __init__(self, c_or_r):
        self.coeffs = self.coef = self.c = array(c_or_r)

    @property
    def order(self):
        return len(self.coeffs) - 1

    def __call__(self, x):
        out = 0
        for c in self.coeffs.tolist():
            out = out * x + c
        return out

    def __mul__(self, other):
        if not isinstance(other, poly1d):
            return poly1d(self.coeffs * other)
        out = [0] * (self.order + other.order + 1)
        for i, a in enumerate(self.coeffs.tolist()):
            for k, b in enumerate(other.coeffs.tolist()):
                out[i + k] += a * b
        return poly1d(out)
    __rmul__ = __mul__

    def __pow__(self, n):
        out = poly1d([1])
        for _ in range(n):
            out = out * self
        return out


def bincount(x, minlength=0):
    return ndarray(torch.bincount(_t(x), minlength=minlength))


def dot(a, b):
    return _mul(a, b) if _is_number(a) or _is_number(b) else _mm(a, b)


matmul = _mm


def outer(a, b):
    a, b = _alike([_t(a), _t(b)])
    return ndarray(torch.outer(a.reshape(-1), b.reshape(-1)))


def einsum(subscripts, *operands):
    return _out(torch.einsum(subscripts, *_alike([_t(x) for x in operands])))


def repeat(a, repeats, axis=None):
    return ndarray(torch.repeat_interleave(_t(a), repeats, axis))


def diff(a, axis=-1):
    return ndarray(torch.diff(_t(a), dim=axis))


ndarray.sum, ndarray.mean, ndarray.max, ndarray.min, ndarray.all, ndarray.any = sum, mean, max, min, all, any
ndarray.prod, ndarray.var, ndarray.std, ndarray.argmax, ndarray.argmin = prod, var, std, argmax, argmin
ndarray.cumsum, ndarray.cumprod, ndarray.clip, ndarray.round, ndarray.repeat = cumsum, cumprod, clip, round, repeat
ndarray.argsort, ndarray.dot, ndarray.nonzero = argsort, dot, nonzero


# -- shapes


def shape(a):
    return tuple(_t(a).shape)


def ndim(a):
    return _t(a).ndim


def size(a):
    return _t(a).numel()


def reshape(a, shape):
    return asarray(a).reshape(shape)


def transpose(a, axes=None):
    return asarray(a).transpose() if axes is None else asarray(a).transpose(*axes)


def ravel(a):
    return asarray(a).ravel()


def squeeze(a, axis=None):
    return asarray(a).squeeze(axis)


def expand_dims(a, axis):
    return ndarray(_t(a).unsqueeze(axis))


def swapaxes(a, axis1, axis2):
    return asarray(a).swapaxes(axis1, axis2)


def moveaxis(a, source, destination):
    return ndarray(torch.movedim(_t(a), source, destination))


def concatenate(arrays, axis=0):
    return ndarray(torch.cat(_alike([_t(a) for a in arrays]), axis))


def stack(arrays, axis=0):
    return ndarray(_stacked([_t(a) for a in arrays], axis))


def vstack(tup):
    return ndarray(torch.vstack(_alike([_t(a) for a in tup])))


def hstack(tup):
    return ndarray(torch.hstack(_alike([_t(a) for a in tup])))


def split(ary, indices_or_sections, axis=0):
    t, at = _t(ary), indices_or_sections
    return [ndarray(x) for x in torch.tensor_split(t, at if isinstance(at, int) else list(at), axis)]


array_split = split


def tile(A, reps):
    return ndarray(_t(A).tile(reps))


def broadcast_to(array, shape):
    return ndarray(_t(array).expand(shape))


def flip(m, axis=None):
    t = _t(m)
    return ndarray(t.flip(list(range(t.ndim)) if axis is None else axis))


def roll(a, shift, axis=None):
    return ndarray(torch.roll(_t(a), shift, axis))


def triu(m, k=0):
    return ndarray(torch.triu(_t(m), k))


def tril(m, k=0):
    return ndarray(torch.tril(_t(m), k))


def diag(v, k=0):
    return ndarray(torch.diag(_t(v), k))


# -- as text


def _shortest(x, narrow):
    """Digits and exponent of the shortest decimal that is x: 0.125 -> '125', -1."""
    for precision in range(0, 17):
        text = f'{x:.{precision}e}'
        near = float(text)
        if near == x or narrow and torch.tensor(near, dtype=torch.float32).item() == x:
            break
    mantissa, _, exponent = text.partition('e')
    return mantissa.replace('-', '').replace('.', ''), int(exponent)


_PRECISION, _WIDTH, _THRESHOLD, _EDGE = 8, 75, 1000, 3


def _float_format(values, narrow):
    finite = [v for v in values if math.isfinite(v)]
    sizes = [_abs(v) for v in finite if v != 0]
    if sizes and (_max(sizes) >= 1e8 or _min(sizes) < 1e-4 or _max(sizes) / _min(sizes) > 1000):
        places = _max([_min(len(_shortest(v, narrow)[0].rstrip('0')) - 1, _PRECISION) for v in finite])
        show = lambda v: f'{v:.{places}e}' if places > 0 else f'{v:.0e}'.replace('e', '.e')
        width = _max([len(show(v)) for v in finite])
        return lambda v: (show(v) if math.isfinite(v) else str(v)).rjust(width)

    def plain(v):
        digits, exponent = _shortest(v, narrow)
        places = _min(_max(len(digits) - 1 - exponent, 0), _PRECISION)
        whole, _, part = f'{v:.{places}f}'.partition('.')
        return whole, part.rstrip('0')
    parts = [plain(v) for v in finite]
    left, right = _max([len(p[0]) for p in parts] + [1]), _max([len(p[1]) for p in parts] + [0])
    other = _max([len(str(v)) for v in values if not math.isfinite(v)] + [0])
    left = _max(left, other - right - 1)

    def show(v):
        if not math.isfinite(v):
            return str(v).rjust(left + right + 1)
        whole, part = plain(v)
        return whole.rjust(left) + '.' + part.ljust(right)
    return show


def _shown(t):
    """The elements that are printed."""
    for d in range(t.ndim):
        if t.shape[d] > 2 * _EDGE:
            t = torch.cat([t.narrow(d, 0, _EDGE), t.narrow(d, t.shape[d] - _EDGE, _EDGE)], d)
    return t.reshape(-1).tolist()


def _text(a, separator, indent):
    t = a._t
    if not t.numel():
        return '[]'
    values = _shown(t) if t.numel() > _THRESHOLD else t.reshape(-1).tolist()
    if t.ndim == 0:
        return str(values[0])
    if t.is_floating_point():
        show = _float_format(values, t.dtype != torch.float64)
    elif t.dtype == torch.bool:
        show = lambda v: ' True' if v else 'False'
    else:
        width = _max([len(str(v)) for v in values])
        show = lambda v: str(v).rjust(width)
    return _rows(t, show, separator, indent + ' ', _WIDTH, t.numel() > _THRESHOLD)


def _rows(t, show, separator, indent, width, summary):
    n = t.shape[0]
    short = summary and n > 2 * _EDGE
    at = list(range(_EDGE)) + [None] + list(range(n - _EDGE, n)) if short else list(range(n))
    if t.ndim > 1:
        rows = ['...' if i is None else _rows(t[i], show, separator, indent + ' ', width - 1, summary) for i in at]
        return '[' + (separator.rstrip() + '\n' * (t.ndim - 1) + indent).join(rows) + ']'
    text, line, values = '', indent, t.tolist()
    for k, i in enumerate(at):
        word = '...' if i is None else show(values[i])
        if len(line) + len(word) > width - 1 and len(line) > len(indent):
            text, line = text + line.rstrip() + '\n', indent
        line += word + (separator if k < len(at) - 1 else '')
    return '[' + (text + line)[len(indent):] + ']'


def __getattr__(name):
    if name == 'bool':
        return bool_
    if name[:2] == '__':
        raise AttributeError(name)
    import numpy._more as more
    if name[:1] != '_' and hasattr(more, name):
        return getattr(more, name)
    refuse(f'numpy.{name} is not supported; torch and math have functions for tensors and numbers')
