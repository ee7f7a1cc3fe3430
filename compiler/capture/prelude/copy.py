"""copy: of containers, objects, tensors and modules."""
import torch
from _warpsmith import bare, Parameter, buffer, is_parameter, is_buffer


def copy(x):
    if isinstance(x, (list, dict, set)):
        return type(x)(x)
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
    if x is None or isinstance(x, (bool, int, float, str, torch.dtype)):
        return x
    if id(x) in memo:
        return memo[id(x)][0]
    if isinstance(x, torch.Tensor):
        new = _tensor(x)
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
    elif hasattr(type(x), '__deepcopy__'):
        new = x.__deepcopy__(memo)
    elif _is_object(x):
        return _object(x, lambda value: deepcopy(value, memo), memo)
    else:
        return x
    memo[id(x)] = (new, x)
    return new


def _object(x, function, memo=None):
    new = bare(type(x))
    if memo is not None:
        memo[id(x)] = (new, x)
    for name, value in x.__dict__.items():
        setattr(new, name, function(value))
    return new
