"""torch.utils.hooks: hooks of modules' gradients, in scripts. Identities stand before and behind the module; what goes back
through them is shown to the hooks, which may change it."""
import torch
from torch._tensor import RemovableHandle
from _warpsmith import refuse


class _Seen(torch.autograd.Function):
    @staticmethod
    def forward(ctx, show, *tensors):
        ctx.show = show
        ctx.mark_non_differentiable(*[x for x in tensors if not x.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx, *grads):
        return None, *ctx.show(grads)


def _tensors_of(values):
    return [i for i, x in enumerate(values) if isinstance(x, torch.Tensor)]


def _spread(places, found, n):
    """Of n values those at the places; the others are None."""
    all_of = [None] * n
    for i, x in zip(places, found):
        all_of[i] = x
    return tuple(all_of)


class _OfLastOperator:
    """What register_backward_hook's hook gets as grad_input."""

    def _refuse(self, *args):
        refuse('grad_input of register_backward_hook(), which is that of the last operator alone, is not supported; '
               'that of register_full_backward_hook() is')
    __getitem__ = __len__ = __iter__ = __getattr__ = _refuse


class BackwardHook:
    """Of one call of a module."""

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module, self.before = module, user_pre_hooks
        self.full = [hook for hook, full in user_hooks if full]
        self.last = [hook for hook, full in user_hooks if not full]
        self.inputs = self.grads = None

    def _through(self, values, show):
        """The values, with an identity that shows their gradients, and where the tensors among them are."""
        places = _tensors_of(values)
        if not (torch.is_grad_enabled() and any([values[i].requires_grad for i in places])):
            return values, None
        new = list(values)
        for i, x in zip(places, _Seen.apply(show, *[values[i] for i in places])):
            new[i] = x
        return (type(values)(*new) if hasattr(values, '_fields') else tuple(new)), places

    def setup_input_hook(self, args):
        if not self.full:
            return args
        new, self.inputs = self._through(args, self._show_inputs)
        self.n_inputs = len(args)
        return new

    def setup_output_hook(self, out):
        values = out if isinstance(out, tuple) else (out,)
        new, self.outputs = self._through(values, self._show_outputs)
        self.n_outputs = len(values)
        return new if isinstance(out, tuple) else new[0]

    def _show_outputs(self, grads):
        grads = _spread(self.outputs, grads, self.n_outputs)
        for hook in self.before:
            changed = hook(self.module, grads)
            if changed is not None:
                grads = changed if isinstance(changed, tuple) else (changed,)
        for hook in self.last:
            if hook(self.module, _OfLastOperator(), grads) is not None:
                refuse('a change of gradients by register_backward_hook() is not supported; '
                       'by register_full_backward_hook() it is')
        if self.inputs is None:
            for hook in self.full:
                if hook(self.module, (None,) * self.n_inputs, grads) is not None:
                    raise RuntimeError('Backward hook for Modules where no input requires gradient should always return None '
                                       'or None for all gradients.')
        self.grads = grads
        return [grads[i] for i in self.outputs]

    def _show_inputs(self, found):
        if self.grads is None:  # none of the outputs was used
            return found
        found = _spread(self.inputs, found, self.n_inputs)
        for hook in self.full:
            changed = hook(self.module, found, self.grads)
            if changed is not None:
                found = changed if isinstance(changed, tuple) else (changed,)
        self.grads = None
        return [found[i] for i in self.inputs]
