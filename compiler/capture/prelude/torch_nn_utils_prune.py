"""torch.nn.utils.prune: weights times a mask. Pruned again, what is left is ranked."""
import torch
from torch.nn.utils import _compute
from _warpsmith import Parameter, buffer


def _count(amount, n):
    if isinstance(amount, int) and amount > n:
        raise ValueError(f'amount={amount} should be smaller than the number of parameters to prune={n}')
    if not isinstance(amount, int) and not 0.0 <= amount <= 1.0:
        raise ValueError(f'amount={amount} should either be a float in the range [0, 1] or a non-negative integer')
    return amount if isinstance(amount, int) else round(amount * n)


def is_pruned(module):
    return any([name.endswith('_mask') and name[:-5] + '_orig' in dict(m.named_parameters(recurse=False))
                for m in module.modules() for name, _ in m.named_buffers(recurse=False)])


def _mask_of(module, name):
    mask = module.__dict__.get(name + '_mask')
    return torch.ones_like(getattr(module, name)) if mask is None else mask


def custom_from_mask(module, name, mask):
    if name + '_mask' in module.__dict__:
        getattr(module, name + '_mask').mul_(mask)
        return module
    weight = getattr(module, name)
    setattr(module, name + '_orig', Parameter(weight.detach()))
    setattr(module, name + '_mask', buffer(mask.detach().clone().to(weight.dtype)))
    return _compute(module, name, lambda m: getattr(m, name + '_mask') * getattr(m, name + '_orig'))


def identity(module, name):
    return custom_from_mask(module, name, torch.ones_like(getattr(module, name)))


def remove(module, name):
    if name + '_mask' not in module.__dict__:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    weight, orig = getattr(module, name).detach(), getattr(module, name + '_orig')
    with torch.no_grad():
        orig.copy_(weight)
    module._computed = {k: f for k, f in module._computed.items() if k != name}
    delattr(module, name + '_orig')
    delattr(module, name + '_mask')
    setattr(module, name, orig)
    return module


def _least(scores, mask, amount):
    """The mask without `amount` of what it has, of the least scores."""
    mask, scores = mask.reshape(-1).clone(), scores.reshape(-1)
    left = mask.nonzero().reshape(-1)
    k = _count(amount, left.numel())
    if k:
        mask[left[torch.topk(scores[left], k, largest=False).indices]] = 0
    return mask


class L1Unstructured:
    def __init__(self, amount):
        self.amount = amount

    def scores(self, values):
        return values.abs()

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        mask, scores = _mask_of(module, name), importance_scores
        with torch.no_grad():
            weight = getattr(module, name)
            found = _least(cls(amount).scores(weight if scores is None else scores), mask, amount)
        return custom_from_mask(module, name, found.reshape(mask.shape))


class RandomUnstructured(L1Unstructured):
    def scores(self, values):
        return torch.rand_like(values)


def l1_unstructured(module, name, amount, importance_scores=None):
    return L1Unstructured.apply(module, name, amount, importance_scores)


def random_unstructured(module, name, amount):
    return RandomUnstructured.apply(module, name, amount)


def _structured(module, name, amount, dim, scores_of):
    mask = _mask_of(module, name)
    others = [d for d in range(mask.ndim) if d != dim % mask.ndim]
    with torch.no_grad():
        kept = (mask.sum(others) != 0).to(mask.dtype)
        kept = _least(scores_of(getattr(module, name), others), kept, amount)
    shape = [1] * mask.ndim
    shape[dim] = -1
    return custom_from_mask(module, name, mask * kept.reshape(shape))


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    def norms(weight, others):
        return (weight if importance_scores is None else importance_scores).norm(p=n, dim=others)
    return _structured(module, name, amount, dim, norms)


def random_structured(module, name, amount, dim):
    return _structured(module, name, amount, dim, lambda weight, others: torch.rand(weight.shape[dim]))


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """The least of all of them together."""
    given, masks = importance_scores or {}, [_mask_of(m, name) for m, name in parameters]
    with torch.no_grad():
        values = torch.cat([given.get((m, name), getattr(m, name)).reshape(-1) for m, name in parameters])
        method = pruning_method(**kwargs)
        mask = _least(method.scores(values), torch.cat([x.reshape(-1) for x in masks]), method.amount)
    for (m, name), part in zip(parameters, mask.split([x.numel() for x in masks])):
        custom_from_mask(m, name, part.reshape(getattr(m, name).shape))
