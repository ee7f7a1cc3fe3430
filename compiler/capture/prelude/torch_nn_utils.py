"""torch.nn.utils: what is done to gradients between backward() and a step."""
import torch


def _list(parameters):
    return [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, **options):
    grads = [p.grad for p in _list(parameters) if p.grad is not None]
    if not grads:
        return torch.tensor(0.0)
    total = sum([(g.abs() ** norm_type).sum() for g in grads]) ** (1 / norm_type)
    scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(scale)
    return total


def clip_grad_value_(parameters, clip_value):
    for p in _list(parameters):
        if p.grad is not None:
            p.grad.copy_(p.grad.clamp(-clip_value, clip_value))


def parameters_to_vector(parameters):
    return torch.cat([p.reshape(-1) for p in _list(parameters)])
