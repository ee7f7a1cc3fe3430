"""torch: what is not an operator of graph/ops.def by itself."""

from _warpsmith import op, refuse, graph_break, is_parameter
from torch._tensor import squeeze, unbind, split, chunk, var, std, max, min, norm, softmax, log_softmax
from torch._tensor import sort, argsort, topk, kthvalue, median
from torch._tensor import dot, mv, outer, addmv, addr, addbmm, count_nonzero, bernoulli


class device:
    def __init__(self, type, index=None):
        if isinstance(type, device):
            type = type.type
        self.type = type.split(':')[0]
        self.index = index

    def __repr__(self):
        return f"device(type='{self.type}')"

    def __str__(self):
        return self.type

    def __eq__(self, other):
        return isinstance(other, device) and self.type == other.type


_device = device('cpu')


class Generator:
    def __init__(self, device=None):
        pass

    def manual_seed(self, seed):
        return self


class _Guard:
    def __enter__(self):
        return None

    def __exit__(self, type, value, traceback):
        return None

    def __call__(self, function):
        return function


def no_grad(function=None):
    return _Guard() if function is None else function


inference_mode = enable_grad = no_grad


def set_grad_enabled(mode):
    return _Guard()


def compile(model=None, **options):
    return (lambda function: function) if model is None else model


def manual_seed(seed):
    return Generator()


def set_float32_matmul_precision(precision):
    pass


def set_default_device(device):
    pass


def get_default_dtype():
    return float32


def is_tensor(x):
    return isinstance(x, Tensor)


def is_floating_point(x):
    return x.is_floating_point()


def numel(x):
    return x.numel()


def tensor(data, dtype=None, device=None, requires_grad=False):
    if isinstance(data, (list, tuple)):
        refuse('torch.tensor of a list is not supported; torch.arange, torch.full and torch.where make '
               'constant tensors')
    return full((), data, dtype=dtype)


def as_tensor(data, dtype=None, device=None):
    return data.to(dtype=dtype) if isinstance(data, Tensor) else tensor(data, dtype)


full_ = op('full')


def full(size, fill_value, dtype=None, device=None, **placement):
    return full_(size, fill_value, dtype)


arange_ = op('arange')


def arange(start, end=None, step=1, dtype=None, device=None, **placement):
    return arange_(0, start, 1, dtype) if end is None else arange_(start, end, step, dtype)


def var_mean(input, dim=None, unbiased=None, correction=None, keepdim=False):
    return var(input, dim, unbiased, correction, keepdim), input.mean(dim, keepdim=keepdim)


def std_mean(input, dim=None, unbiased=None, correction=None, keepdim=False):
    return std(input, dim, unbiased, correction, keepdim), input.mean(dim, keepdim=keepdim)


vdot, ger = dot, outer


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    import torch.nn.functional as F
    return F.cosine_similarity(x1, x2, dim, eps)


rand_ = op('rand')


def randint(low, high=None, size=None, dtype=None, **placement):
    if size is None:
        low, high, size = 0, low, high
    n = high - low
    if not 0 < n <= 2 ** 24:
        refuse(f'randint takes 1 to 2^24 different values, not {n}')
    return (rand_(size, dtype=float64) * n).floor().to(dtype or int64) + low


def randperm(n, **placement):
    refuse('torch.randperm is not supported; torch.randint draws with repetition')
