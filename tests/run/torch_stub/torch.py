"""As much of PyTorch as scripts/torch_peer.py --check needs for workloads of `a * b` and `sum()`: tensors are lists."""
import contextlib
import itertools
import math
import struct
import sys
import types

__version__ = "stub"
float16, bfloat16, float32, float64, int32, int64, bool = "f16", "bf16", "f32", "f64", "i32", "i64", "bool"
sys.modules["torch"] = sys.modules[__name__]


class Tensor:
    requires_grad = False

    def __init__(self, values, shape, dtype=float32, parts=()):
        self.values, self.shape, self.dtype, self.parts = list(values), tuple(shape), dtype, parts
        self.requires_grad = any(part.requires_grad for part, _ in parts)

    ndim = property(lambda self: len(self.shape))

    def stride(self, d):
        return math.prod(self.shape[d + 1 :])

    def like(self, values, **more):
        return Tensor(values, self.shape, more.get("dtype", self.dtype), more.get("parts", ()))

    def map(self, f, other=None):
        more = other.values if isinstance(other, Tensor) else itertools.repeat(other)
        return self.like(f(a, b) for a, b in zip(self.values, more))

    def __mul__(self, other):
        out = self.map(lambda a, b: a * b, other)
        parts = ((self, lambda t: t.map(lambda a, b: a * b, other)), (other, lambda t: t.map(lambda a, b: a * b, self)))
        return self.like(out.values, parts=parts)

    def sum(self):
        return Tensor([sum(self.values)], (), self.dtype, ((self, lambda t: self.like(t.values * self.numel())),))

    def __sub__(self, other):
        return self.map(lambda a, b: a - b, other)

    def __truediv__(self, other):
        return self.map(lambda a, b: a / b if b else math.nan, other)

    def __add__(self, other):
        return self.map(lambda a, b: a + b, other)

    def __eq__(self, other):
        return self.map(lambda a, b: a == b, other)

    def __and__(self, other):
        return self.map(lambda a, b: a and b, other)

    def __or__(self, other):
        return self.map(lambda a, b: a or b, other)

    def isnan(self):
        return self.map(lambda a, _: a != a)

    def isfinite(self):
        return self.map(lambda a, _: math.isfinite(a))

    def abs(self):
        return self.map(lambda a, _: abs(a))

    def sqrt(self):
        return self.map(lambda a, _: math.sqrt(a))

    def mean(self):
        return Tensor([sum(self.values) / self.numel()] * self.numel(), self.shape)

    def max(self):
        return Tensor([math.nan if any(v != v for v in self.values) else max(self.values)], ())

    def item(self):
        return self.values[0]

    def numel(self):
        return math.prod(self.shape)

    def dim(self):
        return len(self.shape)

    def is_complex(self):
        return False

    def untyped_storage(self):
        return self

    def data_ptr(self):
        return id(self)

    def is_floating_point(self):
        return "f" in self.dtype

    def requires_grad_(self):
        self.requires_grad = True
        return self

    def detach(self):
        return self.like(self.values)

    def to(self, device=None, dtype=None):
        return self.like(self.values, dtype=dtype or self.dtype)

    def copy_(self, other):
        self.values = list(other.values)
        return self

    def mul_(self, other):
        product = self.like(self.values, parts=self.parts) * other
        self.parts = product.parts
        return self.copy_(product)

    def clone(self):
        return self.like(self.values, parts=((self, lambda t: t),))

    def reshape(self, shape):
        return Tensor(self.values, shape, self.dtype)


def frombuffer(data, dtype):
    form = {"f32": "f", "f64": "d", "i64": "q"}[dtype]
    return Tensor(struct.unpack(f"<{len(data) // struct.calcsize(form)}{form}", data), (-1,), dtype)


def randn(*shape):
    return Tensor([0.5] * math.prod(shape), shape)


def zeros_like(t):
    return t.like([0] * t.numel())


def allclose(a, b, rtol, atol, equal_nan):
    return all(v == w or (v != v and w != w) for v, w in zip(a.values, b.values))


def where(condition, a, b):
    return a.like(y if c else z for c, y, z in zip(condition.values, a.values, b.values))


def manual_seed(seed):
    pass


@contextlib.contextmanager
def nothing(*_):
    yield


device = no_grad = set_grad_enabled = nothing


def grad(outputs, wants, tangents, allow_unused):
    found = [None] * len(wants)

    def walk(tensor, tangent):
        for i, want in enumerate(wants):
            if want is tensor:
                found[i] = tangent if found[i] is None else found[i] + tangent
        for part, backward in tensor.parts:
            walk(part, backward(tangent))

    for output, tangent in zip(outputs, tangents):
        walk(output, tangent)
    return found


class Module:
    def parameters(self):
        return [v for v in vars(self).values() if isinstance(v, Tensor)]

    def buffers(self):
        return []

    def to(self, device=None, dtype=None):
        for tensor in self.parameters():
            tensor.dtype = dtype
        return self

    def __call__(self, *inputs):
        return self.forward(*inputs)


class nn:
    Module, Parameter = Module, staticmethod(Tensor.requires_grad_)


class autograd:
    grad = staticmethod(grad)


flags = types.SimpleNamespace(allow_tf32=True)
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=flags), cudnn=flags)
cuda = types.SimpleNamespace(is_available=lambda: False)
sys.modules["torch.nn"] = nn
nn.functional = sys.modules["torch.nn.functional"] = types.ModuleType("torch.nn.functional")
