"""copy: of containers, objects, tensors and modules."""
import torch
from _warpsmith import bare, plain, Parameter, buffer, is_parameter, is_buffer


def copy(x):
    if type(x) in (list, dict, set):
        return type(x)(x)
    if hasattr(type(x), '__copy__'):
        return x.__copy__()
    if _is_object(x):
        return _object(x, lambda value: value)
    return x


def _is_object(x):
    """Has attributes of its own, and is neither a class nor a module of Python's."""
    return hasattr(x, '__dict__') and not isinstance(x, type) and not callable(x) or isinstance(x, torch.nn.Module)


def _tensor(x):
    if is_parameter(x):
        return Parameter(x.detach().clone(), x.requires_grad)
    new = x.detach().clone()
    return buffer(new) if is_buffer(x) else new.requires_grad_(x.requires_grad)


def deepcopy(x, memo=None):
    """memo: id of what was copied -> the copy and what it is of, which stays alive so that the id stays its own."""
    memo = {} if memo is None else memo
    if x is None or type(x) in (bool, int, float, str, torch.dtype):
        return x
    if id(x) in memo:
        return memo[id(x)][0]
    if isinstance(x, torch.Tensor):
        new = _tensor(x)
    elif hasattr(x, '__self__') and hasattr(x, '__func__'):
        new = getattr(deepcopy(x.__self__, memo), x.__func__.__name__)
    elif hasattr(type(x), '__deepcopy__'):
        new = x.__deepcopy__(memo)
    elif hasattr(x, '__dict__') and plain(x) is not x:
        return _object(x, lambda value: deepcopy(value, memo), memo)
    elif isinstance(x, list):
        new = []
        memo[id(x)] = (new, x)
        new.extend([deepcopy(item, memo) for item in x])
    elif isinstance(x, (tuple, set)):
        new = type(x)([deepcopy(item, memo) for item in x])
    elif isinstance(x, dict):
        new = {}
        memo[id(x)] = (new, x)
        new.update({deepcopy(key, memo): deepcopy(value, memo) for key, value in x.items()})
    elif _is_object(x):
        return _object(x, lambda value: deepcopy(value, memo), memo)
    else:
        return x
    memo[id(x)] = (new, x)
    return new


def _object(x, function, memo=None):
    """Of a class derived from a container, too: what it holds is put there by the container's own methods."""
    held, kind = plain(x), type(plain(x))
    new = bare(type(x), held)
    if memo is not None:
        memo[id(x)] = (new, x)
    if kind in (list, set):
        kind.__init__(new, [function(item) for item in held])
    elif kind is dict:
        dict.update(new, {key: function(value) for key, value in held.items()})
    for name, value in x.__dict__.items():
        object.__setattr__(new, name, function(value))
    return new
