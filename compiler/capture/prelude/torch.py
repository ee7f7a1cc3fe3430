"""torch: what is not an operator of graph/ops.def by itself."""

from _warpsmith import (default_type as _default_type, set_default_type as _set_default_type, holds_complex, op, refuse, graph_break, is_parameter, computes, tensor as from_data, seed as _seed, grad_mode, set_grad_mode,
                        is_script, has_cuda, on_cuda, stream, print_options, call as _call)
from torch._tensor import squeeze, unbind, chunk, var, std, max, min, norm, softmax, log_softmax
from torch._tensor import cummax, cummin, logcumsumexp
from torch._tensor import sort, argsort, topk, kthvalue, median, quantile
from torch._tensor import div, divide, round, aminmax, fliplr, flipud, rot90, diff, trace, diag_embed, cross, kron
from torch._tensor import tensordot, inner, matrix_power, nansum, nanmean, tensor_split, hsplit, vsplit, dsplit, ravel, adjoint
from torch._tensor import take_along_dim, index_copy, index_fill, index_put, scatter_reduce, masked_select, masked_scatter, msort, mode, argwhere, nonzero, diagonal
from torch._tensor import unique, unique_consecutive, repeat_interleave, inverse, det, logdet, slogdet
from torch._tensor import erfinv, lgamma, digamma, i0, diagflat, isreal, nanquantile, index_reduce
from torch._tensor import svd, cholesky, cholesky_solve, cholesky_inverse, pinverse, triangular_solve, qr
from torch._tensor import histogram, frexp, nonzero_static, put, scatter, select_scatter, slice_scatter, diagonal_scatter, nanmedian, histc, cov, corrcoef, ldexp, mvlgamma
from torch._tensor import logit, sgn, rad2deg, deg2rad, heaviside, float_power, nextafter, logaddexp2, sinc, dist, renorm
from torch._complex import complex, polar, view_as_complex, view_as_real, is_complex, conj, resolve_conj, conj_physical
from torch._complex import imag, angle, resolve_neg, complex64, complex128, cfloat, cdouble
from torch._complex import Complex as _Complex, DType as _ComplexDType, from_data as _complex_data
from torch._complex import einsum as _einsum_complex
from torch._conv import conv1d, conv_tbc, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from torch._tensor import _int_mm, _scaled_mm, dot, mv, outer, addmv, addr, addbmm, count_nonzero, bernoulli, multinomial
from torch._tensor import narrow, polygamma, gcd, lcm, vdot, ger, as_strided, as_strided_scatter, narrow_copy
from torch._tensor import allclose, equal, isclose, positive, signbit, isposinf, isneginf, split_with_sizes, bincount
from itertools import combinations as _combinations, combinations_with_replacement as _combinations_with_replacement

_whole = type(0)  # int is a dtype here


class device:
    def __init__(self, type, index=None):
        if isinstance(type, device):
            type = str(type)
        parts = type.split(':')
        self.type = parts[0]
        self.index = _whole(parts[1]) if len(parts) > 1 else index

    def __repr__(self):
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self):
        return self.type if self.index is None else f'{self.type}:{self.index}'

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __eq__(self, other):
        return isinstance(other, device) and self.type == other.type and self.index == other.index


_device, _named_device = device('cpu'), device


class memory_format:
    """Accepted wherever PyTorch takes one, and ignored: strides are as of contiguous_format."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return 'torch.' + self.name


class layout(memory_format):
    """Every tensor is strided."""


strided, sparse_coo = layout('strided'), layout('sparse_coo')
legacy_contiguous_format = memory_format('contiguous_format')
contiguous_format, preserve_format, channels_last, channels_last_3d = [
    memory_format(name) for name in ('contiguous_format', 'preserve_format', 'channels_last', 'channels_last_3d')]


class layout(memory_format):
    """Of tensors that are dense, as all are."""


strided = layout('strided')


class Generator:
    """A stream of random numbers of its own: a seed, and how many tensors were drawn from it."""

    def __init__(self, device='cpu'):
        self.device = _named_device(device)
        self.manual_seed(67280421310721)

    def manual_seed(self, seed):
        self._stream = [seed, 0]
        return self

    def initial_seed(self):
        return self._stream[0]

    def get_state(self):
        return list(self._stream)

    def set_state(self, state):
        self._stream = list(state)
        return self


class set_grad_enabled:
    """A context, a decorator, and a call that takes effect at once."""

    def __init__(self, mode):
        self.mode = mode
        self.before = set_grad_mode(mode)

    def __enter__(self):
        set_grad_mode(self.mode)

    def __exit__(self, type, value, traceback):
        set_grad_mode(self.before)


class _GradMode:
    mode = False

    def __init__(self, function=None):
        self.before = True

    def __enter__(self):
        self.before = set_grad_mode(self.mode)

    def __exit__(self, type, value, traceback):
        set_grad_mode(self.before)

    def __call__(self, function):
        mode = self.__class__

        def run(*args, **kwargs):
            with mode():
                return function(*args, **kwargs)
        return run


class _GradModeOn(_GradMode):
    mode = True


def no_grad(function=None):
    return _GradMode() if function is None else _GradMode()(function)


def enable_grad(function=None):
    return _GradModeOn() if function is None else _GradModeOn()(function)


def inference_mode(mode=True):
    return _GradMode() if mode is True else _GradModeOn() if mode is False else _GradMode()(mode)


def set_float32_matmul_precision(precision):
    from torch.backends import set_float32_matmul_precision as set_precision
    set_precision(precision)


def get_float32_matmul_precision():
    from torch.backends import get_float32_matmul_precision as get_precision
    return get_precision()


def is_grad_enabled():
    return grad_mode()


def compile(model=None, *, fullgraph=False, dynamic=None, backend='inductor', mode=None, options=None, disable=False):
    if disable or not is_script():
        return (lambda function: function) if model is None else model
    import torch._dynamo
    number = torch._dynamo.number_of(backend, dynamic, fullgraph)
    if model is None:
        return lambda function: torch._dynamo.OptimizedModule(function, number)
    return torch._dynamo.OptimizedModule(model, number)


class _Default(Generator):
    """The stream of whoever names none."""

    def __init__(self):
        self.device = _device

    def manual_seed(self, seed):
        _seed(seed)
        return self

    def initial_seed(self):
        return stream()[0]

    def get_state(self):
        return stream()

    def set_state(self, state):
        stream(state)
        return self


default_generator = _Default()
manual_seed, initial_seed = default_generator.manual_seed, default_generator.initial_seed
get_rng_state, set_rng_state = default_generator.get_state, default_generator.set_state


def seed():
    return 0


_PRINT_PROFILES = {'default': (4, 1000, 3, 80), 'short': (2, 1000, 2, 80), 'full': (4, 2 ** 62, 3, 80)}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    if profile is not None:
        print_options(*_PRINT_PROFILES.get(profile, _PRINT_PROFILES['default']), 0)
    given = [-1 if x is None else 2 ** 62 if x == inf else x for x in (precision, threshold, edgeitems, linewidth)]
    print_options(*given, -1 if sci_mode is None and profile is None else 0 if sci_mode is None else 2 if sci_mode else 1)


class _NoDevice:
    """torch.xpu, torch.mps: kinds of devices of which there is none."""
    is_available = is_initialized = lambda self: False
    device_count = lambda self: 0
    empty_cache = synchronize = manual_seed = manual_seed_all = lambda self, *args: None


xpu = mps = _NoDevice()


def set_default_device(device):
    pass


def get_default_dtype():
    return _default_type()


def sym_sum(args):
    return sum(args)


def is_tensor(x):
    return isinstance(x, Tensor)


def is_floating_point(x):
    return x.is_floating_point()


def numel(x):
    return x.numel()


def _holds_arrays(x):
    """Of numpy; the first item tells."""
    return _is_array(x) or isinstance(x, (list, tuple)) and len(x) > 0 and _holds_arrays(x[0])


def _is_array(x):
    return type(x).__name__ == 'ndarray'


def from_numpy(ndarray):
    return ndarray._t


def tensor(data, dtype=None, device=None, requires_grad=False):
    data = list(data) if isinstance(data, range) else data
    if _holds_arrays(data):
        from numpy import array
        x = array(data)._t
        return _placed(x if dtype is None else x.to(dtype), device, requires_grad)
    if holds_complex(data) or type(dtype) is _ComplexDType:
        if isinstance(data, _Complex) and isinstance(data.real, Tensor):
            return _placed(data.detach().clone(), device, requires_grad)
        return _placed(_complex_data(data.tolist() if isinstance(data, Tensor) else data, dtype), device, requires_grad)
    if computes():
        if isinstance(data, Tensor):
            data = data.tolist()
        return _placed(from_data(data, dtype), device, requires_grad)
    if isinstance(data, (list, tuple)):
        return _gathered(data, dtype) if _has_tensor(data) else from_data(data, dtype)
    return data.detach().clone() if isinstance(data, Tensor) else full((), data, dtype=dtype)


def _has_tensor(data):
    return isinstance(data, Tensor) or isinstance(data, (list, tuple)) and any([_has_tensor(x) for x in data])


stack_ = op('stack')


def _gathered(data, dtype):
    """Of lists with tensors among the numbers: values alone, which have no gradient."""
    if isinstance(data, (list, tuple)):
        x = stack_([_gathered(x, None) for x in data])
    elif isinstance(data, Tensor):
        if data.numel() != 1:
            raise ValueError('only one element tensors can be converted to Python scalars')
        x = data.detach().reshape(())
    else:
        x = full((), data)
    return x if dtype is None else x.to(dtype)


def _placed(x, device, requires_grad=False):
    if device is not None:
        x = x.to(device)
    return x.requires_grad_() if requires_grad else x


def as_tensor(data, dtype=None, device=None):
    data = data._t if _is_array(data) else data
    return data.to(dtype=dtype) if isinstance(data, Tensor) else tensor(data, dtype)


full_ = op('full')


def full(size, fill_value, dtype=None, **placement):
    return full_(size, fill_value, dtype, **placement)


def sparse_coo_tensor(*args, **kwargs):
    import torch.sparse
    return torch.sparse.sparse_coo_tensor(*args, **kwargs)


def sparse_csr_tensor(*args, **kwargs):
    import torch.sparse
    return torch.sparse.sparse_csr_tensor(*args, **kwargs)


spmm = smm = lambda input, mat2: input @ mat2
hspmm = dsmm = spmm

arange_ = op('arange')


def _number(x):
    """A tensor of one element as the number, where something computes it."""
    return x.item() if isinstance(x, Tensor) else x


def arange(start=None, end=None, step=1, dtype=None, **placement):
    if start is None and end is None:
        raise TypeError('arange() received an invalid combination of arguments: neither start nor end')
    start, end = (0, start) if end is None else (start or 0, end)
    start, end, step = _number(start), _number(end), _number(step)
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex) and step - step // 1 != 0:
        count = arange_(0, -_whole((start - end) // step), dtype=dtype, **placement)  # as many as there are, of integer steps
        return count * _whole(step) + _whole(start)
    return arange_(start, end, step, dtype, **placement)


def var_mean(input, dim=None, unbiased=None, correction=None, keepdim=False):
    if dim is True or dim is False:
        dim, unbiased = None, dim
    return var(input, dim, unbiased, correction, keepdim), input.mean(dim, keepdim=keepdim)


def std_mean(input, dim=None, unbiased=None, correction=None, keepdim=False):
    if dim is True or dim is False:
        dim, unbiased = None, dim
    return std(input, dim, unbiased, correction, keepdim), input.mean(dim, keepdim=keepdim)


def split(tensor, split_size_or_sections, dim=0):
    return tensor.split(split_size_or_sections, dim)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    import torch.nn.functional as F
    return F.cosine_similarity(x1, x2, dim, eps)


rand_ = op('rand')


def randint(low=0, high=None, size=None, dtype=None, generator=None, device=None, **placement):
    if size is None:
        low, high, size = 0, low, high
    n = high - low
    if not 0 < n <= 2 ** 24:
        refuse(f'randint takes 1 to 2^24 different values, not {n}')
    wide = dtype or int64
    wide = uint8 if wide == bool else wide  # a sum of bool is an integer
    return _placed(((rand_(size, dtype=float64, generator=generator) * n).floor().to(wide) + low).to(dtype or int64), device)


def randint_like(input, low=0, high=None, dtype=None, **placement):
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, input.shape, dtype or input.dtype, **placement)


def randperm(n, dtype=None, device=None, generator=None, **placement):
    if is_script() and not computes():
        graph_break('call of torch.randperm()', 'pass the permutation')
    return _placed(rand_((n,), dtype=float64, generator=generator).argsort().to(dtype or int64), device)


where_ = op('where')


def where(condition, self=None, other=None, input=None):
    if self is None and input is None:
        return condition.nonzero(as_tuple=True)
    return where_(condition, input if self is None else self, other)


def _single(x):
    """A number as f32 keeps it."""
    if isinstance(x, Tensor):
        return x
    far = x * (2.0**29 + 1)
    return far - (far - x)


def linspace(start, end, steps, dtype=None, device=None, requires_grad=False, **placement):
    steps = steps.item() if isinstance(steps, Tensor) else steps
    if steps < 2:
        first = full((steps,), 0 if isinstance(start, Tensor) else start, dtype=dtype or _default_type())
        return _placed((first + start).to(first.dtype) if isinstance(start, Tensor) else first, device, requires_grad)
    dtype = dtype or _default_type()
    if dtype is float32:
        start, end = _single(start), _single(end)
    step = (end - start) / (steps - 1)
    if dtype in (float32, bfloat16, float16):  # PyTorch's step is of f32, and what it is times i is not rounded
        step = _single(step)
    i = arange_(0, steps, 1, float64)
    low, high = start + i * step, end - (steps - 1 - i) * step
    return _placed(where_(i < steps // 2, low, high).to(dtype), device, requires_grad)


cat_ = op('cat')


def hstack(tensors):
    tensors = list(tensors)
    return cat_(tensors, 0 if tensors[0].ndim == 1 else 1)


def vstack(tensors):
    return cat_([x if x.ndim > 1 else x.reshape(1, -1) for x in tensors], 0)


row_stack = vstack


def _assert(condition, message):
    assert condition, message


def _assert_async(condition, message='Expected Tensor with single nonzero value, but got zero'):
    if computes() and not condition:
        raise RuntimeError(message)


def meshgrid(*tensors, indexing='ij'):
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    if indexing not in ('ij', 'xy'):
        raise RuntimeError('torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + indexing)
    tensors = list(tensors)
    swap = indexing == 'xy' and len(tensors) > 1
    if swap:
        tensors[0], tensors[1] = tensors[1], tensors[0]
    shape = [x.numel() for x in tensors]
    grids = []
    for i, x in enumerate(tensors):
        grids.append(x.reshape([-1 if k == i else 1 for k in range(len(shape))]).expand(shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def norm_except_dim(v, pow=2, dim=0):
    return v.norm(pow) if dim == -1 else v.norm(pow, [i for i in range(v.ndim) if i != dim], True)


def real(input):
    return input.real


def cartesian_prod(*tensors):
    if len(tensors) == 1:
        return tensors[0]
    return stack_(meshgrid(*tensors), -1).reshape(-1, len(tensors))


def combinations(input, r=2, with_replacement=False):
    if input.dim() != 1:
        raise RuntimeError('Expect a 1D vector, but got shape ' + str(list(input.shape)))
    if not r:
        return input[:0]
    pick = _combinations_with_replacement if with_replacement else _combinations
    picked = list(zip(*pick(range(len(input)), r)))
    return stack_([input[list(at)] for at in picked], 1) if picked else input.new_empty(0, r)


def _einsum_terms(equation, operands):
    """The labels of each operand and of the result, one character a dimension; '...' becomes digits."""
    left, arrow, out = equation.replace(' ', '').partition('->')
    terms = left.split(',')
    if len(terms) != len(operands):
        raise RuntimeError(f'einsum(): {len(terms)} operands in the equation, but {len(operands)} were given')
    widest = 0
    for term, x in zip(terms, operands):
        named = term.replace('...', '')
        if len(named) > x.ndim or (len(named) < x.ndim and named == term):
            raise RuntimeError(f"einsum(): '{term}' does not name the dimensions of a tensor of {list(x.shape)}")
        widest = widest if widest > x.ndim - len(named) else x.ndim - len(named)
    rest = ''.join([str(i) for i in range(widest)])
    labels = []
    for term, x in zip(terms, operands):
        hidden = x.ndim - len(term.replace('...', ''))
        term = term.replace('...', rest[widest - hidden:])
        labels.append(term)
    if not arrow:
        together = ''.join(labels)
        out = '...' + ''.join([label for label in sorted(together) if label.isalpha() and together.count(label) == 1])
    return labels, out.replace('...', rest)


def _product(sizes):
    n = 1
    for size in sizes:
        n *= size
    return n


def _einsum_pair(x, a, y, b, wanted):
    """Contract two operands: labels that both have are batches if they are wanted later, else summed over."""
    batch = [label for label in a if label in b and label in wanted]
    larger = a if x.numel() >= y.numel() else b  # whose dimensions stay in their order
    depth = [label for label in larger if label in a and label in b and label not in wanted]
    rows = [label for label in a if label not in b]
    columns = [label for label in b if label not in a]
    size = {}
    for labels, tensor in ((a, x), (b, y)):
        for label, n in zip(labels, tensor.shape):
            if n != 1 and size.get(label, 1) not in (1, n):
                raise RuntimeError(f"einsum(): '{label}' has the sizes {size[label]} and {n}")
            size[label] = n if n != 1 else size.get(label, 1)
    of = lambda labels: [size[label] for label in labels]
    x = x.permute([a.index(label) for label in batch + rows + depth]).expand(of(batch + rows + depth))
    y = y.permute([b.index(label) for label in batch + depth + columns]).expand(of(batch + depth + columns))
    if depth:
        n, k, m = _product(of(batch)), _product(of(depth)), _product(of(rows))
        outer = [n] if batch else []
        r = matmul(x.reshape(outer + [m, k]), y.reshape(outer + [k, _product(of(columns))]))
        r = r.reshape(of(batch + rows + columns))
    else:
        r = x.reshape(of(batch + rows) + [1] * len(columns)) * y.reshape(of(batch) + [1] * len(rows) + of(columns))
    return r, ''.join(batch + rows + columns)


def _einsum_diagonal(x, labels):
    """Two dimensions of one label are their diagonal."""
    for label in labels:
        while labels.count(label) > 1:
            i = labels.index(label)
            k = i + 1 + labels[i + 1:].index(label)
            x, labels = x.diagonal(0, i, k), labels[:i] + labels[i + 1:k] + labels[k + 1:] + label
    return x, labels


def _sum_unwanted(x, labels, wanted):
    unwanted = [i for i, label in enumerate(labels) if label not in wanted]
    return (x.sum(unwanted) if unwanted else x), ''.join([label for label in labels if label in wanted])


def _einsum_words(*operands):
    """x, [0, 1], y, [1, 2], [0, 2]    ->    'AB,BC->AC', x, y"""
    def letter(k):
        if k is ... or 0 <= k < 52:
            return '...' if k is ... else chr(65 + k if k < 26 else 71 + k)
        raise ValueError('einsum(): subscript in subscript list is not within the valid range [0, 52)')
    word = lambda places: ''.join([letter(k) for k in places])
    n = len(operands) // 2 * 2
    words = ','.join([word(places) for places in operands[1:n:2]])
    return words + ('->' + word(operands[n]) if n < len(operands) else ''), *operands[:n:2]


def _einsum_next(operands, labels):
    """The two that take least to contract; of pairs alike the first."""
    best, least = (0, 1), None
    size = {label: n for x, of_x in zip(operands, labels) for label, n in zip(of_x, x.shape) if n != 1}
    for j in range(1, len(operands)):
        for i in range(j):
            work = _product([size.get(label, 1) for label in set(labels[i] + labels[j])])
            if least is None or work < least:
                best, least = (i, j), work
    return best


def einsum(equation, *operands):
    """Each pair as one product of matrices; of more operands than two, those first that take least, as opt_einsum does."""
    if isinstance(equation, Tensor):
        equation, *operands = _einsum_words(equation, *operands)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    if any([is_complex(x) for x in operands]):
        return _einsum_complex(equation, operands)
    labels, out = _einsum_terms(equation, operands)
    operands = list(operands)
    for i, x in enumerate(operands):
        operands[i], labels[i] = _einsum_diagonal(x, labels[i])
    for label in out:
        if label not in ''.join(labels) or out.count(label) > 1:
            raise RuntimeError(f"einsum(): the output's '{label}' is no label of an operand, or there twice")
    for i, x in enumerate(operands):
        operands[i], labels[i] = _sum_unwanted(x, labels[i], ''.join(labels[:i] + labels[i + 1:]) + out)
    while len(operands) > 1:
        i, j = _einsum_next(operands, labels) if len(operands) > 2 else (0, 1)
        y, b = operands.pop(j), labels.pop(j)
        x, a = operands.pop(i), labels.pop(i)
        later = ''.join(labels) + out
        x, a = _einsum_pair(x, a, y, b, later)
        x, a = _sum_unwanted(x, a, later)
        operands.insert(i, x)
        labels.insert(i, a)
    return operands[0].permute([labels[0].index(label) for label in out])


matmul = op('matmul')


def cond(pred, true_fn, false_fn, operands=()):
    """In a graph both are computed, and the one that pred says is picked element by element."""
    if not isinstance(pred, Tensor):
        return (true_fn if pred else false_fn)(*operands)
    if computes():
        return (true_fn if pred.item() else false_fn)(*operands)
    return _picked(pred, true_fn(*operands), false_fn(*operands))


def poisson(input, generator=None):
    from torch.distributions._more import _poisson_draw
    return _poisson_draw(input, generator)


def _picked(pred, a, b):
    if isinstance(a, Tensor):
        return where_(pred, a, b)
    if isinstance(a, dict):
        return {key: _picked(pred, value, b[key]) for key, value in a.items()}
    if isinstance(a, (list, tuple)):
        parts = [_picked(pred, x, y) for x, y in zip(a, b)]
        return type(a)(*parts) if type(a) is not tuple and isinstance(a, tuple) else type(a)(parts)
    return a


from torch.amp import autocast, get_autocast_dtype, is_autocast_enabled

true_divide = op('div')
swapdims, moveaxis, negative = op('transpose'), op('movedim'), op('neg')


sub_ = op('sub')


def rsub(input, other, alpha=1):
    return sub_(other, input, alpha=alpha)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    import torch.nn.functional as F
    return F.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    import torch.nn.functional as F
    return F.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    import torch.nn.functional as F
    return F.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    import torch.nn.functional as F
    return F.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def pixel_shuffle(input, upscale_factor):
    import torch.nn.functional as F
    return F.pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input, downscale_factor):
    import torch.nn.functional as F
    return F.pixel_unshuffle(input, downscale_factor)


def adaptive_avg_pool1d(input, output_size):
    import torch.nn.functional as F
    return F.adaptive_avg_pool1d(input, output_size)


def broadcast_shapes(*shapes):
    shapes = [(s,) if isinstance(s, _whole) else s for s in shapes]
    n, out = max_([len(s) for s in shapes]), []
    for i in range(n):
        sizes = {s[i - n] for s in shapes if i - n >= -len(s)} - {1}
        if len(sizes) > 1:
            raise RuntimeError(f'shape mismatch: {[list(s) for s in shapes]} cannot be broadcast')
        out.append(max_(sizes) if sizes else 1)
    return Size(out)


def broadcast_tensors(*tensors):
    shape = broadcast_shapes(*[x.shape for x in tensors])
    return tuple([x.expand(shape) for x in tensors])


def max_(values):
    most = 0
    for v in values:
        most = v if v > most else most
    return most


def cdist(x1, x2, p=2.0, compute_mode=None):
    return norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


def tril_indices(row, col, offset=0, dtype=None, **placement):
    places = [(i, j) for i in range(row) for j in range(col) if j <= i + offset]
    return tensor([[i for i, _ in places], [j for _, j in places]], dtype=dtype or int64)


def triu_indices(row, col, offset=0, dtype=None, **placement):
    places = [(i, j) for i in range(row) for j in range(col) if j >= i + offset]
    return tensor([[i for i, _ in places], [j for _, j in places]], dtype=dtype or int64)


def column_stack(tensors):
    return cat_([x.reshape(-1, 1) if x.ndim < 2 else x for x in tensors], 1)


def dstack(tensors):
    return cat_([atleast_3d(x) for x in tensors], 2)


def _each_of(function):
    """Of one tensor, of several, or of a list of them."""
    def apply(*tensors):
        if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
            return function(tensors[0])
        tensors = tensors[0] if len(tensors) == 1 else tensors
        return tuple([function(x) for x in tensors])
    return apply


atleast_1d = _each_of(lambda x: x.reshape(1) if x.ndim == 0 else x)
atleast_2d = _each_of(lambda x: x if x.ndim > 1 else x.reshape(1, -1))
atleast_3d = _each_of(lambda x: x if x.ndim > 2 else x.unsqueeze(-1) if x.ndim == 2 else x.reshape(1, -1, 1))


def normal(mean=0.0, std=1.0, size=None, generator=None, device=None, dtype=None, requires_grad=False, **placement):
    both = [x for x in (mean, std) if isinstance(x, Tensor)]
    if size is None:
        size = broadcast_shapes(*[x.shape for x in both])
    dtype = both[0].dtype if both else dtype
    return _placed(randn_(size, dtype=dtype, generator=generator) * std + mean, device, requires_grad)


randn_ = op('randn')


def logspace(start, end, steps, base=10.0, dtype=None, **placement):
    return (base ** linspace(start, end, steps, dtype=float64)).to(dtype or _default_type())


def fill(input, value):
    return input.clone().fill_(value)


def scalar_tensor(s, dtype=None, **placement):
    return full_((), s, dtype or _default_type())


def block_diag(*tensors):
    tensors = [atleast_2d(x) for x in tensors]
    zeros, columns = op('zeros'), sum_([x.shape[1] for x in tensors])
    rows, at = [], 0
    for x in tensors:
        left = zeros(x.shape[0], at, dtype=x.dtype)
        at += x.shape[1]
        rows.append(cat_([left, x, zeros(x.shape[0], columns - at, dtype=x.dtype)], 1))
    return cat_(rows, 0)


def sum_(values):
    total = 0
    for v in values:
        total += v
    return total


def bucketize(input, boundaries, out_int32=False, right=False):
    """The number of boundaries below, or not above, each element, or a number of Python: of nan, all of them."""
    each = input.unsqueeze(-1) if isinstance(input, Tensor) else input
    below = ~(boundaries > each if right else boundaries >= each)
    return below.sum(-1).to(int32 if out_int32 else int64)


def searchsorted(sorted_sequence, input, out_int32=False, right=False, side=None, sorter=None):
    right = right or side == 'right'
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    if sorted_sequence.ndim != 1 and not isinstance(input, Tensor):
        raise RuntimeError('torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension '
                           'is 1')
    if sorted_sequence.ndim == 1:
        return bucketize(input, sorted_sequence, out_int32, right)
    return bucketize(input, sorted_sequence.unsqueeze(-2), out_int32, right)


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    if not isinstance(elements, Tensor):
        elements = tensor(elements)
    if isinstance(test_elements, Tensor):
        found = (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    else:
        found = elements == test_elements
    return ~found if invert else found


def pdist(input, p=2.0):
    n = input.size(0)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    if not pairs:
        return input.new_zeros(0)
    return norm(input[[i for i, _ in pairs]] - input[[j for _, j in pairs]], p, -1)


def chain_matmul(*matrices):
    from torch.linalg import multi_dot
    return multi_dot(matrices)


def save(obj, f, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Tensors, numbers, strings, lists, tuples and dicts of them, in PyTorch's format."""
    from io import BytesIO
    from os import fspath
    from pickle import dump
    from _warpsmith import save_state
    dump(obj, f) if isinstance(f, BytesIO) else save_state(fspath(f), obj)


def load(f, map_location=None, *, weights_only=True, mmap=None):
    from io import BytesIO
    from os import fspath
    from pickle import load as unpickled
    from _warpsmith import load_state
    if callable(map_location) or isinstance(map_location, dict):
        refuse('torch.load takes a device as map_location')
    if isinstance(f, BytesIO):
        return unpickled(f)
    place = None if map_location is None else str(map_location).startswith('cuda')
    return load_state(fspath(f), place)


def vmap(function, in_dims=0, out_dims=0, randomness='error', chunk_size=None):
    from torch.func import vmap
    return vmap(function, in_dims, out_dims, randomness)


class finfo:
    def __init__(self, dtype=None):
        name = str(dtype or _default_type())
        table = {
            'torch.float32': (32, 1.1920928955078125e-07, 3.4028234663852886e+38, 1.1754943508222875e-38, 1e-06),
            'torch.float64': (64, 2.220446049250313e-16, 1.7976931348623157e+308, 2.2250738585072014e-308, 1e-15),
            'torch.float16': (16, 0.0009765625, 65504.0, 6.103515625e-05, 0.001),
            'torch.float8_e4m3fn': (8, 0.125, 448.0, 0.015625, 1.0),
            'torch.float8_e5m2': (8, 0.25, 57344.0, 6.103515625e-05, 1.0),
            'torch.bfloat16': (16, 0.0078125, 3.3895313892515355e+38, 1.1754943508222875e-38, 0.01),
        }
        if name not in table:
            raise TypeError(f'torch.finfo() requires a floating point input type, not {name}')
        self.bits, self.eps, self.max, self.tiny, self.resolution = table[name]
        self.min, self.smallest_normal, self.dtype = -self.max, self.tiny, name[6:]


class iinfo:
    def __init__(self, dtype):
        if dtype not in (uint8, int8, int16, int32, int64):
            raise TypeError(f'torch.iinfo() requires an integer input type, not {dtype}')
        self.bits, self.dtype = 8 * dtype.itemsize, str(dtype)[6:]
        half = 2 ** (self.bits - 2)  # no number here has more than 64 bits
        self.max = 255 if dtype == uint8 else half - 1 + half
        self.min = 0 if dtype == uint8 else -self.max - 1


def promote_types(type1, type2):
    return (full_((1,), 0, type1) + full_((1,), 0, type2)).dtype


def result_type(x, y):
    return (x + y).dtype


def can_cast(from_, to):
    """No float becomes an integer, and nothing but a bool a bool."""
    kind = lambda t: 2 if t.is_floating_point else 0 if t == bool else 1
    return kind(from_) <= kind(to)


def set_default_dtype(d):
    _set_default_type(d)


class _TypeOf:
    """torch.FloatTensor: makes tensors of its dtype, and isinstance() knows them."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, *data):
        data = data or (0,)
        whole = len(data) == 1 and (isinstance(data[0], (list, tuple)) and type(data[0]) is not Size or _is_array(data[0]))
        return tensor(data[0], self.dtype).to(self.dtype) if whole else Tensor(*data).to(self.dtype)

    def __instancecheck__(self, x):
        return isinstance(x, Tensor) and x.dtype == self.dtype and not x.is_cuda


FloatTensor, LongTensor, IntTensor, DoubleTensor, HalfTensor, BoolTensor, ShortTensor, CharTensor, ByteTensor = [
    _TypeOf(d) for d in (float32, int64, int32, float64, float16, bool, int16, int8, uint8)]
BFloat16Tensor = _TypeOf(bfloat16)


def set_default_tensor_type(t):
    """torch.DoubleTensor, or its name: of a module of torch, one is as the other."""
    of = globals()[t.split('.')[-1]] if isinstance(t, str) else t
    _set_default_type(of.dtype)


def _copied(function):
    """torch.<name>_copy: what torch.<name> gives, as tensors of their own."""
    def copy(*args, **kwargs):
        found = function(*args, **kwargs)
        return tuple([x.clone() for x in found]) if isinstance(found, (list, tuple)) else found.clone()
    return copy


(expand_copy, view_copy, permute_copy, transpose_copy, squeeze_copy, unsqueeze_copy, t_copy, diagonal_copy,
 unbind_copy, unfold_copy, select_copy, split_with_sizes_copy, alias_copy, as_strided_copy, slice_copy, detach_copy, split_copy) = [
    _copied(f) for f in (Tensor.expand, Tensor.view, Tensor.permute, Tensor.transpose, squeeze, Tensor.unsqueeze, Tensor.t,
                         diagonal, unbind, Tensor.unfold, Tensor.select, split_with_sizes, positive, as_strided,
                         op('slice'), Tensor.detach, split)]
unsafe_chunk, unsafe_split, unsafe_split_with_sizes = chunk, split, split_with_sizes

from torch._windows import bartlett_window, hann_window, hamming_window, blackman_window, gradient, vander
from torch._windows import trapezoid, cumulative_trapezoid, kaiser_window
trapz = trapezoid
from torch._foreach import (_foreach_abs, _foreach_abs_, _foreach_acos, _foreach_acos_, _foreach_add, _foreach_add_, _foreach_addcdiv,
                            _foreach_addcdiv_, _foreach_addcmul, _foreach_addcmul_, _foreach_asin, _foreach_asin_, _foreach_atan,
                            _foreach_atan_, _foreach_ceil, _foreach_ceil_, _foreach_clamp_max, _foreach_clamp_max_, _foreach_clamp_min,
                            _foreach_clamp_min_, _foreach_copy_, _foreach_cos, _foreach_cos_, _foreach_div, _foreach_div_, _foreach_erf,
                            _foreach_erf_, _foreach_exp, _foreach_exp_, _foreach_expm1, _foreach_expm1_, _foreach_floor, _foreach_floor_,
                            _foreach_frac, _foreach_frac_, _foreach_lerp, _foreach_lerp_, _foreach_log, _foreach_log_, _foreach_log10,
                            _foreach_log10_, _foreach_log1p, _foreach_log1p_, _foreach_log2, _foreach_log2_, _foreach_maximum,
                            _foreach_maximum_, _foreach_minimum, _foreach_minimum_, _foreach_mul, _foreach_mul_, _foreach_neg,
                            _foreach_neg_, _foreach_pow, _foreach_pow_, _foreach_reciprocal, _foreach_reciprocal_, _foreach_round,
                            _foreach_round_, _foreach_rsqrt, _foreach_rsqrt_, _foreach_sigmoid, _foreach_sigmoid_, _foreach_sign,
                            _foreach_sign_, _foreach_sin, _foreach_sin_, _foreach_sinh, _foreach_sinh_, _foreach_sqrt, _foreach_sqrt_,
                            _foreach_sub, _foreach_sub_, _foreach_tan, _foreach_tan_, _foreach_tanh, _foreach_tanh_, _foreach_trunc,
                            _foreach_trunc_, _foreach_zero_, _foreach_norm, _foreach_max)
from torch._functions import *
from torch._functions import (_chunk_cat, _native_batch_norm_legit, _native_multi_head_attention, _segment_reduce, _softmax_backward_data, _unsafe_masked_index,
                              _unsafe_masked_index_put_accumulate, _weight_norm)


_deterministic = [False]


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Kernels are deterministic anyway."""
    _deterministic[0] = mode


def are_deterministic_algorithms_enabled():
    return _deterministic[0]


def is_deterministic_algorithms_warn_only_enabled():
    return False


def get_autocast_gpu_dtype():
    return get_autocast_dtype('cuda')


def get_autocast_cpu_dtype():
    return get_autocast_dtype('cpu')


def is_autocast_cpu_enabled():
    return is_autocast_enabled('cpu')


def get_default_device():
    return _device


def _shape_as_tensor(input):
    return tensor(list(input.shape))
