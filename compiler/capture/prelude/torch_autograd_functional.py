"""torch.autograd.functional: all derivatives of a function, a row at a time."""
import torch
from torch.autograd import grad as _grad
from torch.func import _may_have_gradients


def _several(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _fresh(inputs, create_graph):
    return tuple([(x.view_as(x) if create_graph and _may_have_gradients(x) else x.detach()).requires_grad_()
                  for x in _several(inputs)])


def _finished(x, create_graph):
    return x if create_graph or not isinstance(x, torch.Tensor) else x.detach()


def _gradients(out, xs, tangent, create_graph):
    if not _may_have_gradients(out):
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


def _along(outs, xs, v, like, create_graph):
    """The gradients of outs with regard to xs, given v, or ones like `like`; zeros if no output has gradients."""
    tangents = _several(v) if v is not None else [torch.ones_like(x) for x in like]
    pairs = [(o, t) for o, t in zip(outs, tangents) if _may_have_gradients(o)]
    found = _grad([o for o, _ in pairs], xs, [t for _, t in pairs], create_graph=create_graph,
                  materialize_grads=True) if pairs else [torch.zeros_like(x) for x in xs]
    return tuple([_finished(g, create_graph) for g in found])


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """By the gradient of what vjp makes of u, which is linear in u."""
    with torch.enable_grad():
        xs = _fresh(inputs, create_graph)
        out = func(*xs)
        outs = _several(out)
        given = [torch.zeros_like(o).requires_grad_() for o in outs]
        back = _grad(outs, xs, given, create_graph=True, materialize_grads=True)
        found = _along(back, given, v, xs, create_graph)
    if not isinstance(out, tuple):
        return _finished(out, create_graph), found[0]
    return tuple([_finished(o, create_graph) for o in out]), found


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """v times the second derivatives of a function of one value, which are symmetric: the gradient of v times its gradient."""
    with torch.enable_grad():
        xs = _fresh(inputs, create_graph)
        out = func(*xs)
        first = _grad(out, xs, None, create_graph=True, materialize_grads=True)
        found = _along(first, xs, v, xs, create_graph)
    return _finished(out, create_graph), found if isinstance(inputs, (tuple, list)) else found[0]


hvp = vhp


# -- gradients beside differences of the function's values


class GradcheckError(RuntimeError):
    pass


def _differences(func, inputs, k, eps):
    """[output][element of the k-th input, element of the output], from values eps before and behind each."""
    with torch.no_grad():
        x, rows = inputs[k].detach(), []
        for i in range(x.numel()):
            ends = []
            for step in (eps, -eps):
                moved = x.clone().reshape(-1)
                moved[i] += step
                ends.append(_several(func(*inputs[:k], moved.view(x.shape), *inputs[k + 1:])))
            rows.append([(a - b).reshape(-1) / (2 * eps) for a, b in zip(*ends)])
    return [torch.stack(of) for of in zip(*rows)]


def _gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **options):
    inputs = _several(inputs)
    wanted = [k for k, x in enumerate(inputs) if isinstance(x, torch.Tensor) and x.requires_grad]
    if not wanted:
        raise ValueError('gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.')
    outs = _several(func(*inputs))
    for k in wanted:
        if not inputs[k].numel():
            continue
        for n, (out, differences) in enumerate(zip(outs, _differences(func, inputs, k, eps))):
            found = [_gradients(element, [inputs[k]], None, True)[0].detach().reshape(-1) for element in out.reshape(-1).unbind()]
            found = torch.stack(found, 1) if found else differences
            if torch.allclose(found, differences, rtol, atol):
                continue
            if not raise_exception:
                return False
            raise GradcheckError(f'Jacobian mismatch for output {n} with respect to input {k},\n'
                                 f'numerical:{differences}\nanalytical:{found}\n')
    return True


def _gradgradcheck(func, inputs, grad_outputs=None, **options):
    """The check of the gradients as functions of the inputs, and of what goes back."""
    inputs = _several(inputs)
    wanted = [k for k, x in enumerate(inputs) if isinstance(x, torch.Tensor) and x.requires_grad]
    outs = _several(func(*inputs))
    back = _several(grad_outputs) if grad_outputs is not None else [torch.randn_like(o).requires_grad_() for o in outs]

    def gradients(*given):
        with torch.enable_grad():
            own = [x.view_as(x) if k in wanted and x.requires_grad else x.detach().requires_grad_() if k in wanted else x
                   for k, x in enumerate(given[:len(inputs)])]
            return tuple(_grad(_several(func(*own)), [own[k] for k in wanted], given[len(inputs):], create_graph=True,
                               materialize_grads=True))
    return _gradcheck(gradients, (*inputs, *back), **options)
