"""torch.sparse: dense tensors, with zeros in memory, that know the elements they were made of as long as nothing updates them.

    s = torch.sparse_coo_tensor(places, values, (n, m))
    torch.sparse.mm(s, x)                                  values * x[places[1]], added up by places[0]

A product reads the elements alone, so that what has nothing else to read s never makes its n * m numbers. What a module
keeps from its __init__ is a plain dense tensor in a workload."""
import torch
from torch import mm, addmm, softmax, log_softmax
from _warpsmith import before_forward, computes, op, refuse, updates

_whole = type(0)


def _knowing(dense, places, values, raw=True):
    """raw: as they were given, in their order, some of them twice."""
    if before_forward():
        return dense  # which is an input of the forward, and they would be others
    made = [updates(x) for x in (dense, places, values)]
    if None not in made:
        dense._ws_elements = places, values, raw, made
    return dense


def elements(x):
    """(places, values, raw), or None."""
    kept = getattr(x, '_ws_elements', None)
    if kept is None or [updates(t) for t in (x, *kept[:2])] != kept[3]:
        return None
    return kept[:3]


def with_elements(places, values, size):
    dense = torch.full([*size, *values.shape[1:]], 0, dtype=values.dtype)
    return _knowing(dense.index_put(tuple(places.unbind(0)), values, accumulate=True), places, values)


def sparse_coo_tensor(indices, values, size=None, dtype=None, device=None, requires_grad=False, **options):
    indices, values = torch.as_tensor(indices), torch.as_tensor(values, dtype=dtype)
    if size is None:
        if not computes():
            refuse('torch.sparse_coo_tensor without a size is not supported here')
        size = [_whole(n) + 1 for n in indices.amax(1).tolist()]
    return with_elements(indices, values, size)


FloatTensor = DoubleTensor = HalfTensor = LongTensor = IntTensor = BoolTensor = sparse_coo_tensor


def sparse_csr_tensor(crow_indices, col_indices, values, size=None, dtype=None, device=None, requires_grad=False, **options):
    crow, columns = torch.as_tensor(crow_indices), torch.as_tensor(col_indices)
    rows = torch.searchsorted(crow, torch.arange(columns.numel()), right=True) - 1
    if size is None:
        size = [crow.numel() - 1, _whole(columns.max().item()) + 1]
    return with_elements(torch.stack([rows, columns]), torch.as_tensor(values, dtype=dtype), size)


def sum(input, dim=None, dtype=None):
    return input.sum() if dim is None else input.sum(dim)


def coalesced(x):
    """The same, whose elements are to have an order and to be there once."""
    found = elements(x)
    return x if found is None or not found[2] else _knowing(x.view(x.shape), *found[:2], raw=False)


def called(name, args, kwargs):
    """torch.NAME(*args, **kwargs) of a first one that has elements; None: as of any other tensor."""
    found, name = elements(args[0]), name.split('.')[-1]
    if found is None or args[0].ndim != 2 or found[0].size(0) != 2:
        return None
    (places, values, raw), x, rest = found, args[0], args[1:]
    if name in ('t', 'T') or name == 'transpose' and rest[0] % 2 != rest[1] % 2:
        return _knowing(op('t')(x.view(x.shape)), places.flip(0), values, raw)
    if name not in ('mm', 'matmul') or len(rest) != 1 or rest[0].ndim > 2 or rest[0].dtype != values.dtype or kwargs:
        return None
    if rest[0].size(0) != x.size(1):
        return None  # whose message says so
    taken = rest[0][places[1]]
    taken = taken * (values.unsqueeze(1) if taken.ndim > 1 else values)
    return torch.zeros(x.size(0), *rest[0].shape[1:], dtype=values.dtype).index_add(0, places[0], taken)
