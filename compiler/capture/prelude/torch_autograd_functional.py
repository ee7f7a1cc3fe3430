"""torch.autograd.functional: all derivatives of a function, a row at a time."""
import torch
from torch.autograd import grad as _grad


def _several(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _fresh(inputs, create_graph):
    return tuple([x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in _several(inputs)])


def _finished(x, create_graph):
    return x if create_graph or not isinstance(x, torch.Tensor) else x.detach()


def _gradients(out, xs, tangent, create_graph):
    if not out.requires_grad:
        return [torch.zeros_like(x) for x in xs]
    return _grad(out, xs, tangent, create_graph=create_graph, materialize_grads=True)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy='reverse-mode'):
    """[output, input] of each output and input; without tuples where there are none."""
    with torch.enable_grad():
        xs = _fresh(inputs, create_graph)
        given = func(*xs)
        found = []
        for out in _several(given):
            rows = []
            for i in range(out.numel()):
                tangent = torch.zeros(out.numel(), dtype=out.dtype)
                tangent[i] = 1
                rows.append(_gradients(out, xs, tangent.reshape(out.shape), create_graph))
            blocks = [torch.stack([row[k] for row in rows]).reshape(tuple(out.shape) + tuple(x.shape))
                      for k, x in enumerate(xs)]
            found.append(tuple([_finished(block, create_graph) for block in blocks]))
    if not isinstance(inputs, (tuple, list)):
        found = [row[0] for row in found]
    return tuple(found) if isinstance(given, (tuple, list)) else found[0]


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy='reverse-mode'):
    one = not isinstance(inputs, (tuple, list))

    def gradient(*xs):
        found = jacobian(func, xs[0] if one else xs, create_graph=True)
        return found
    return jacobian(gradient, inputs, create_graph=create_graph)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    with torch.enable_grad():
        xs = _fresh(inputs, create_graph)
        out = func(*xs)
        found = [_finished(g, create_graph) for g in
                 _grad(out, xs, v, create_graph=create_graph, materialize_grads=True)]
    outs = tuple([_finished(o, create_graph) for o in out]) if isinstance(out, tuple) else _finished(out, create_graph)
    return outs, tuple(found) if isinstance(inputs, (tuple, list)) else found[0]
