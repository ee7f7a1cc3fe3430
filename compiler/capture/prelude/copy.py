"""copy: of lists, dicts, tensors and modules."""
import torch
from _warpsmith import bare, Parameter, buffer, is_parameter, is_buffer


def copy(x):
    if isinstance(x, (list, dict)):
        return type(x)(x)
    if isinstance(x, torch.nn.Module):
        return _module(x, lambda value: value)
    return x


def deepcopy(x, memo=None):
    if is_parameter(x):
        return Parameter(x.detach().clone(), x.requires_grad)
    if is_buffer(x):
        return buffer(x.clone())
    if isinstance(x, torch.Tensor):
        return x.clone()
    if isinstance(x, (list, tuple)):
        return type(x)([deepcopy(item) for item in x])
    if isinstance(x, dict):
        return {key: deepcopy(value) for key, value in x.items()}
    if isinstance(x, torch.nn.Module):
        return _module(x, deepcopy)
    return x


def _module(x, function):
    new = bare(type(x))
    for name, value in x.__dict__.items():
        setattr(new, name, function(value))
    return new
