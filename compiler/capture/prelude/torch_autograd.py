"""torch.autograd: gradients of what was computed, and functions that bring gradients of their own."""

import torch
from _warpsmith import grad as _grad, backward as _backward, need_values, record, set_grad_mode, refuse
from _warpsmith import carries_gradient, is_script, op
_tangent, _give_gradient = op('tangent'), op('give_gradient')
_tangents_made = [0]
_hooked = []  # hooks of modules' gradients, which nothing has called for as long as none are taken


def _need_no_hooks():
    if _hooked:
        refuse('in a workload hooks of the gradients of modules are not supported; in a script they are, and '
               'Tensor.register_hook is')


class _Variable:
    """What tensors that have gradients were once called: every tensor is one."""

    def __call__(self, data, requires_grad=False, volatile=False):
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(self, x):
        return isinstance(x, torch.Tensor)


Variable = _Variable()


def _list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _tangents(grads, outputs):
    return [None] * len(outputs) if grads is None else _list(grads)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True,
         allow_unused=None, is_grads_batched=False, materialize_grads=False):
    _need_no_hooks()
    outputs, inputs = _list(outputs), _list(inputs)
    if is_grads_batched:
        rows = [grad(outputs, inputs, list(row), True, create_graph, only_inputs, allow_unused, materialize_grads=materialize_grads)
                for row in zip(*_list(grad_outputs))]
        return tuple([None if of[0] is None else torch.stack(of) for of in zip(*rows)])
    if not all([x.requires_grad for x in inputs]):
        raise RuntimeError('One of the differentiated Tensors does not require grad')
    found = _grad(outputs, inputs, _tangents(grad_outputs, outputs), create_graph)
    if materialize_grads:
        return tuple([torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs)])
    if not allow_unused and any([g is None for g in found]):
        raise RuntimeError('One of the differentiated Tensors appears to not have been used in the graph. '
                           'Set allow_unused=True if this is the desired behavior.')
    return found


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    _need_no_hooks()
    tensors = _list(tensors)
    along = _tangents(grad_tensors, tensors)
    if inputs is None:
        _backward(tensors, along, create_graph)
        return
    inputs = _list(inputs)
    if not inputs:
        raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    for x, g in zip(inputs, _grad(tensors, inputs, along, create_graph)):
        if g is not None:
            x.grad = g if x.grad is None else x.grad + g


def gradcheck(func, inputs, **options):
    from torch.autograd.functional import _gradcheck
    return _gradcheck(func, inputs, **options)


def gradgradcheck(func, inputs, grad_outputs=None, **options):
    from torch.autograd.functional import _gradgradcheck
    return _gradgradcheck(func, inputs, grad_outputs, **options)


class FunctionCtx:
    saved_tensors = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    @property
    def saved_variables(self):
        return self.saved_tensors

    def mark_dirty(self, *tensors):
        refuse('a torch.autograd.Function that updates its inputs in place is not supported')

    def mark_non_differentiable(self, *tensors):
        self._flat = tensors

    def set_materialize_grads(self, value):
        pass


# What Function.apply() does: functions, as a program may have methods of any name beside forward().

def _run_forward(cls, ctx, args):
    before = set_grad_mode(False)
    try:
        if not hasattr(cls, 'setup_context'):
            return cls.forward(ctx, *args)
        out = cls.forward(*args)
        cls.setup_context(ctx, args, out)
        return out
    finally:
        set_grad_mode(before)


def _run_backward(cls, ctx, grads, n):
    found = _list(cls.backward(ctx, *grads))
    if len(found) < n or any([g is not None for g in found[n:]]):
        raise RuntimeError(f'function {cls.__name__}Backward returned an incorrect number of gradients '
                           f'(expected {n}, got {len(found)})')
    return found


def _captured(cls, args):
    """In the graph of a workload: backward() is captured behind forward(), as what it makes of a tangent for each output;
    where the workload is differentiated, it is made of the gradient instead."""
    ctx = FunctionCtx()
    ctx.needs_input_grad = tuple([isinstance(x, torch.Tensor) and (x.requires_grad or carries_gradient(x)) for x in args])
    out = _run_forward(cls, ctx, args)
    if not (torch.is_grad_enabled() and any(ctx.needs_input_grad)):
        return out
    flat = [id(x) for x in getattr(ctx, '_flat', ())]
    outs = _list(out)
    before = set_grad_mode(False)
    try:
        made = [o if not isinstance(o, torch.Tensor) or id(o) in flat or not o.is_floating_point()
                else _with_gradient(cls, ctx, args, outs, i) for i, o in enumerate(outs)]
    finally:
        set_grad_mode(before)
    return tuple(made) if isinstance(out, (list, tuple)) else made[0]


def _with_gradient(cls, ctx, args, outs, i):
    tangent = _tangent(outs[i].shape, _tangents_made[0], outs[i].dtype)
    _tangents_made[0] += 1
    grads = [tangent if k == i else torch.zeros_like(o) if isinstance(o, torch.Tensor) else None for k, o in enumerate(outs)]
    found = _run_backward(cls, ctx, grads, len(args))
    given = [(x, g) for x, g, needed in zip(args, found, ctx.needs_input_grad) if needed and g is not None]
    before = set_grad_mode(True)
    try:
        return _give_gradient(outs[i], tangent, [x for x, g in given], [g for x, g in given]) if given else outs[i]
    finally:
        set_grad_mode(before)


class Function:
    """apply() runs forward() without a tape, and records backward() as what computes the gradients."""

    @classmethod
    def apply(cls, *args):
        if not is_script():
            return _captured(cls, args)
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple([isinstance(x, torch.Tensor) and x.requires_grad for x in args])
        needed = torch.is_grad_enabled() and any(ctx.needs_input_grad)
        if needed:
            need_values()
        out = _run_forward(cls, ctx, args)
        if not needed:
            return out
        flat = [id(x) for x in getattr(ctx, '_flat', ())]
        outs = [o.detach() if any([o is x for x in args]) else o for o in _list(out)]
        tensors = [o for o in outs if isinstance(o, torch.Tensor)]
        inputs = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]

        def gradients(grads):
            all_grads, given = [], iter(grads)
            for o in outs:
                all_grads.append(next(given) if isinstance(o, torch.Tensor) else None)
            found = _run_backward(cls, ctx, all_grads, len(args))
            return [found[i] for i in inputs]
        record(cls.__name__ + 'Backward', gradients, [args[i] for i in inputs], tensors)
        for o in tensors:
            if id(o) in flat:
                o.requires_grad_(False)
        return tuple(outs) if isinstance(out, (list, tuple)) else outs[0]
