"""torch.nn.utils: what is done to gradients between backward() and a step, and weights computed from others."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from _warpsmith import Parameter, buffer, refuse


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


def vector_to_parameters(vec, parameters):
    begin = 0
    with torch.no_grad():
        for p in parameters:
            p.copy_(vec[begin:begin + p.numel()].view_as(p))
            begin += p.numel()


def parameters_to_vector(parameters):
    return torch.cat([p.reshape(-1) for p in _list(parameters)])


def _length(weight, dim):
    """The norm over all dimensions but dim; of everything if that is None or -1, as in PyTorch."""
    if dim is None or dim == -1:
        return weight.norm()
    return weight.norm(dim=[d for d in range(weight.ndim) if d != dim % weight.ndim], keepdim=True)


def _compute(module, name, function):
    """module.name is function(module) from now on; Module.__getattr__ finds it."""
    delattr(module, name)
    module._computed = {**module.__dict__.get('_computed', {}), name: function}
    return module


def weight_norm(module, name='weight', dim=0):
    weight = getattr(module, name).detach()
    setattr(module, name + '_g', Parameter(_length(weight, dim)))
    setattr(module, name + '_v', Parameter(weight))

    def normed(m):
        v = getattr(m, name + '_v')
        return v * (getattr(m, name + '_g') / _length(v, dim))
    return _compute(module, name, normed)


def _remove(module, name, *parts):
    """The parameter is what its parts have given last."""
    if name not in module.__dict__.get('_computed', {}):
        raise ValueError(f"no norm of '{name}' found in {module}")
    weight = getattr(module, name).detach()
    module._computed = {other: part for other, part in module._computed.items() if other != name}
    for part in parts:
        delattr(module, name + part)
    setattr(module, name, Parameter(weight))
    return module


def remove_weight_norm(module, name='weight'):
    return _remove(module, name, '_g', '_v')


def remove_spectral_norm(module, name='weight'):
    return _remove(module, name, '_orig', '_u', '_v')


def _power(weight, u, v, rounds, eps):
    """Begins with u: what v was is not read. With the transposed weight, and v for u, it begins with v."""
    with torch.no_grad():
        for _ in range(rounds):
            v.copy_(F.normalize(weight.t().mv(u), dim=0, eps=eps))
            u.copy_(F.normalize(weight.mv(v), dim=0, eps=eps))


def _rows(weight, dim):
    return weight.movedim(dim, 0).flatten(1)


def _over_largest(weight, u, v, dim):
    """The weight over its largest singular value, which u and v estimate."""
    rows = _rows(weight, dim)
    u, v = u.clone(), v.clone()
    return weight / u.dot(rows.mv(v))


def _directions(weight, dim, eps):
    rows = _rows(weight, dim)
    return [buffer(F.normalize(torch.randn(n), dim=0, eps=eps)) for n in rows.shape]


def spectral_norm(module, name='weight', n_power_iterations=1, eps=1e-12, dim=None):
    weight, dim = getattr(module, name).detach(), dim or 0
    u, v = _directions(weight, dim, eps)
    setattr(module, name + '_orig', Parameter(weight))
    setattr(module, name + '_u', u)
    setattr(module, name + '_v', v)

    def normed(m):
        u, v = getattr(m, name + '_u'), getattr(m, name + '_v')
        weight = getattr(m, name + '_orig')
        _power(_rows(weight, dim), u, v, n_power_iterations if m.training else 0, eps)
        return _over_largest(weight, u, v, dim)
    return _compute(module, name, normed)


# -- the same as torch.nn.utils.parametrizations has them: the parts are those of a module of their own


def _parts(module, name):
    if 'parametrizations' not in module.__dict__:
        module.parametrizations = nn.ModuleDict()
    if name in module.parametrizations:
        raise RuntimeError(f"parametrizing '{name}' twice is not supported")
    module.parametrizations[name] = nn.ModuleList()
    return module.parametrizations[name]


def weight_norm_parts(module, name='weight', dim=0):
    weight, parts = getattr(module, name).detach(), _parts(module, name)
    parts.original0, parts.original1 = Parameter(_length(weight, dim)), Parameter(weight)

    def normed(m):
        parts = m.parametrizations[name]
        return parts.original1 * (parts.original0 / _length(parts.original1, dim))
    return _compute(module, name, normed)


def spectral_norm_parts(module, name='weight', n_power_iterations=1, eps=1e-12, dim=None):
    weight, parts, dim = getattr(module, name).detach(), _parts(module, name), dim or 0
    parts.original = Parameter(weight)
    parts.append(nn.Module())
    parts[0]._u, parts[0]._v = _directions(weight, dim, eps)
    with torch.no_grad():
        _power(_rows(weight, dim).t(), parts[0]._v, parts[0]._u, 15, eps)

    def normed(m):
        parts = m.parametrizations[name]
        _power(_rows(parts.original, dim).t(), parts[0]._v, parts[0]._u, n_power_iterations if m.training else 0, eps)
        return _over_largest(parts.original, parts[0]._u, parts[0]._v, dim)
    return _compute(module, name, normed)


# -- torch.nn.utils.parametrize: parts are what the program says, one after the other


class cached:
    """Nothing is kept: what is computed twice from the same is one value of the graph anyway."""

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


def is_parametrized(module, tensor_name=None):
    parts = module.__dict__.get('_computed', {})
    return 'parametrizations' in module._modules and (tensor_name is None or tensor_name in parts)


def _original(parametrization, value):
    """What the parametrization has to start from, to give this value."""
    if not hasattr(parametrization, 'right_inverse'):
        return value
    with torch.no_grad():
        value = parametrization.right_inverse(value)
    if not isinstance(value, torch.Tensor):
        raise NotImplementedError('a right_inverse() of several tensors is not supported')
    return value


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    if is_parametrized(module, tensor_name):
        parts = module.parametrizations[tensor_name]
        parts.original.data = _original(parametrization, parts.original.data)
        parts.append(parametrization)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    old = getattr(module, tensor_name)
    is_parameter, value = tensor_name in module._parameters, _original(parametrization, old.detach())
    parts = _parts(module, tensor_name)
    parts.original = Parameter(value, old.requires_grad) if is_parameter else buffer(value)
    parts.append(parametrization)

    def parametrized(m):
        parts = m.parametrizations[tensor_name]
        value = parts.original
        for part in parts:
            value = part(value)
        return value
    return _compute(module, tensor_name, parametrized)


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    if not is_parametrized(module, tensor_name):
        raise ValueError(f'Module {module} does not have a parametrization on {tensor_name}')
    original = module.parametrizations[tensor_name].original
    value = getattr(module, tensor_name).detach() if leave_parametrized else original
    module._computed = {name: part for name, part in module._computed.items() if name != tensor_name}
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
    setattr(module, tensor_name, Parameter(value) if isinstance(original, Parameter) else buffer(value))
    return module


# -- weights whose columns, or rows where there are fewer, are orthogonal


def _positive_q(x):
    """Q of the decomposition x = QR, where R's diagonal is not negative."""
    q, r = torch.linalg.qr(x)
    return q * torch.where(r.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).unsqueeze(-2)


class _Orthogonal(nn.Module):
    """base Q, where base is what the weight was set to, and Q is made of a parameter that begins with what makes it the unit."""

    def __init__(self, weight, orthogonal_map):
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        self.register_buffer('base', None)

    def forward(self, x):
        wide = x.size(-2) < x.size(-1)
        x = x.mT if wide else x
        n, k = x.shape[-2:]
        if self.orthogonal_map == 'householder':
            a = x.tril(-1)
            q = torch.linalg.householder_product(a, 2.0 / (1.0 + (a * a).sum(-2)))
            q = q * x.diagonal(dim1=-2, dim2=-1).detach().trunc().unsqueeze(-2)
        else:
            x = F.pad(x.tril(), (0, n - k))
            a, one = x - x.mT, torch.eye(n, dtype=x.dtype)
            q = torch.matrix_exp(a) if self.orthogonal_map == 'matrix_exp' else torch.linalg.solve(one - a / 2, one + a / 2)
            q = q[..., :k]
        q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, q):
        if q.shape != self.shape:
            raise ValueError(f'Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}.')
        tall = q.mT if q.size(-2) < q.size(-1) else q
        n, k = tall.shape[-2:]
        if n > k:
            self.base = _positive_q(torch.cat([tall, torch.randn(*tall.shape[:-1], n - k, dtype=q.dtype)], -1))
        else:
            unit = torch.eye(n, dtype=q.dtype)
            is_orthogonal = torch.allclose(tall.mT @ tall, unit, atol=10.0 * n * torch.finfo(q.dtype).eps)
            self.base = tall.clone() if is_orthogonal else _positive_q(tall)
        made = torch.zeros_like(q)
        made.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return made


def orthogonal(module, name='weight', orthogonal_map=None, *, use_trivialization=True):
    weight = getattr(module, name)
    if weight.ndim < 2:
        raise ValueError(f'Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.')
    if not use_trivialization:
        refuse('orthogonal(use_trivialization=False) is not supported')
    chosen = orthogonal_map or ('matrix_exp' if weight.size(-2) == weight.size(-1) else 'householder')
    if chosen not in ('matrix_exp', 'cayley', 'householder'):
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: ' + str(chosen))
    return register_parametrization(module, name, _Orthogonal(weight, chosen), unsafe=True)
