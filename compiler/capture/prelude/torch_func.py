"""torch.func: gradients as functions, a batch as one call for each of its elements, modules with other parameters."""
import torch
from _warpsmith import grad as _grad, is_script, set_grad_mode
from torch.utils._pytree import tree_flatten, tree_unflatten, tree_map


def _fresh(x):
    """The same values as a tensor to differentiate for, through which gradients go on."""
    if not isinstance(x, torch.Tensor) or not x.is_floating_point():
        return x
    return x.detach().requires_grad_() if is_script() and not x.requires_grad else x.view_as(x)


def _may_have_gradients(x):
    """In a graph that is captured only its end says."""
    return x.requires_grad or not is_script()


def _grad_along(outputs, inputs, along):
    """As _grad, of those outputs that may have gradients; None for each input if none has."""
    pairs = [(x, g) for x, g in zip(outputs, along) if _may_have_gradients(x)]
    return _grad([x for x, _ in pairs], inputs, [g for _, g in pairs], True) if pairs else [None] * len(inputs)


def _differentiated(function, argnums, args, kwargs):
    """What function makes of fresh arguments, and those that argnums names."""
    args = list(args)
    for n in (argnums,) if isinstance(argnums, int) else argnums:
        args[n] = tree_map(_fresh, args[n])
    return function(*args, **kwargs), args[argnums] if isinstance(argnums, int) else tuple([args[n] for n in argnums])


def _gradients(out, wanted):
    leaves, form = tree_flatten(wanted)
    found = _grad_along([out], leaves, [None])
    return tree_unflatten([torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves)], form)


def vjp(func, *primals, has_aux=False):
    """What func returns, and the function that takes gradients of it to those of the primals."""
    before = set_grad_mode(True)
    try:
        args = [tree_map(_fresh, x) for x in primals]
        out = func(*args)
    finally:
        set_grad_mode(before)
    value = out[0] if has_aux else out
    outputs, _ = tree_flatten(value)
    leaves, form = tree_flatten(tuple(args))

    def back(cotangents):
        found = _grad_along(outputs, leaves, tree_flatten(cotangents)[0])
        return tree_unflatten([torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves)], form)
    return (value, back, out[1]) if has_aux else (value, back)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """What func returns, and its derivative along the tangents: that of vjp, which is linear in what it is given, by it."""
    before = set_grad_mode(True)
    try:
        value, back, *aux = vjp(func, *primals, has_aux=has_aux)
        outputs, form = tree_flatten(value)
        given = [torch.zeros_like(x).requires_grad_() for x in outputs]
        found = _grad_along(tree_flatten(back(tree_unflatten(given, form)))[0], given, tree_flatten(tuple(tangents))[0])
    finally:
        set_grad_mode(before)
    along = tree_unflatten([torch.zeros_like(x) if g is None else g for g, x in zip(found, outputs)], form)
    return (value, along, *aux)


def linearize(func, *primals):
    """What func returns, and its derivative there as a function of tangents."""
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


def grad_and_value(func, argnums=0, has_aux=False):
    def run(*args, **kwargs):
        before = set_grad_mode(True)
        try:
            out, wanted = _differentiated(func, argnums, args, kwargs)
            value = out[0] if has_aux else out
            if value.ndim:
                raise RuntimeError('Expected f(*args) to return a scalar tensor, got tensor with '
                                   f'{value.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?')
            return _gradients(value, wanted), out
        finally:
            set_grad_mode(before)
    return run


def grad(func, argnums=0, has_aux=False):
    both = grad_and_value(func, argnums, has_aux)

    def run(*args, **kwargs):
        found, out = both(*args, **kwargs)
        return (found, out[1]) if has_aux else found
    return run


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None):
    """A row of gradients for each element of what func returns."""
    def run(*args, **kwargs):
        before = set_grad_mode(True)
        try:
            out, x = _differentiated(func, argnums, args, kwargs)
            y = out[0] if has_aux else out
            rows = [_gradients(element, x) for element in y.reshape(-1).unbind()]
        finally:
            set_grad_mode(before)
        found = torch.stack(rows).reshape(y.shape + x.shape)
        return (found, out[1]) if has_aux else found
    return run


jacfwd = jacrev


def hessian(func, argnums=0):
    return jacrev(jacrev(func, argnums), argnums)


# -- a batch, one after the other


def _dims_of(dims, value):
    """For each leaf of value the dimension that is mapped over, or None."""
    if isinstance(value, (list, tuple)):
        return [d for i, v in enumerate(value) for d in _dims_of(dims[i] if isinstance(dims, (list, tuple)) else dims, v)]
    if isinstance(value, dict):
        return [d for key, v in value.items() for d in _dims_of(dims[key] if isinstance(dims, dict) else dims, v)]
    return [dims if isinstance(value, torch.Tensor) else None]


def _joined(outs, dims):
    first = outs[0]
    if isinstance(first, (list, tuple)):
        parts = [_joined(list(part), dims[i] if isinstance(dims, (list, tuple)) else dims) for i, part in enumerate(zip(*outs))]
        if hasattr(first, '_name'):  # values and indices
            return type(first)(*parts, first._name)
        return type(first)(*parts) if hasattr(first, '_fields') else type(first)(parts)
    if isinstance(first, dict):
        return {key: _joined([out[key] for out in outs], dims) for key in first}
    return first if dims is None else torch.stack(outs, dims)


def vmap(func, in_dims=0, out_dims=0, randomness='error', *, chunk_size=None):
    def run(*args, **kwargs):
        dims = _dims_of(in_dims, args) + _dims_of(0, kwargs)
        leaves, form = tree_flatten((args, kwargs))
        sizes = [x.size(d) for x, d in zip(leaves, dims) if d is not None]
        if not sizes:
            raise ValueError('vmap: at least one input has to be mapped over')
        if any([n != sizes[0] for n in sizes]):
            raise ValueError(f'vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes}')
        outs = []
        for i in range(sizes[0]):
            given, named = tree_unflatten([x if d is None else x.select(d, i) for x, d in zip(leaves, dims)], form)
            outs.append(func(*given, **named))
        return _joined(outs, out_dims)
    return run


# -- modules


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    given = parameters_and_buffers
    values = given if isinstance(given, dict) else {name: value for part in given for name, value in part.items()}
    kept = []
    try:
        for path, value in values.items():
            owner, *names = path.split('.')
            names = [owner] + names
            owner = module
            for name in names[:-1]:
                owner = getattr(owner, name)
            kept.append((owner, names[-1], getattr(owner, names[-1])))
            owner.__dict__[names[-1]] = value
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*args, **(kwargs or {}))
    finally:
        for owner, name, value in reversed(kept):
            owner.__dict__[name] = value


def stack_module_state(models):
    def stacked(names):
        return {name: torch.stack([dict(of)[name] for of in names]) for name, _ in names[0]}
    return (stacked([list(m.named_parameters()) for m in models]), stacked([list(m.named_buffers()) for m in models]))
