"""torch.distributions: what models draw from and take the log-density of, by operators of torch."""
import math
import torch
import torch.nn.functional as F
from _warpsmith import computes, refuse

_unbounded, _positive, _unit = (lambda x: x == x), (lambda x: x > 0), (lambda x: (x >= 0) & (x <= 1))


def _broadcast(*values):
    """Numbers are of the tensors' type, or of the default one."""
    like = [v for v in values if isinstance(v, torch.Tensor)]
    dtype = like[0].dtype if like else torch.float32
    return torch.broadcast_tensors(*[v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=dtype) for v in values])


class Distribution:
    has_rsample = False
    has_enumerate_support = False
    _ws_validates = True

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
        self._ws_validates = Distribution._ws_validates if validate_args is None else validate_args

    @staticmethod
    def set_default_validate_args(value):
        Distribution._ws_validates = value

    batch_shape = property(lambda self: self._batch_shape)
    event_shape = property(lambda self: self._event_shape)
    stddev = property(lambda self: self.variance.sqrt())

    def _ws_need(self, name, holds):
        """Of a parameter, that each element is as it should be."""
        x = getattr(self, name)
        if self._ws_validates and computes() and not holds(x.detach()).all():
            raise ValueError(f'Expected parameter {name} ({type(x).__name__} of shape {tuple(x.shape)}) of distribution '
                             f'{self!r} to satisfy its constraint, but found invalid values:\n{x}')

    def _ws_need_value(self, value, holds):
        if self._ws_validates and computes() and not holds(value.detach()).all():
            raise ValueError(f'Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within '
                             f'the support of the distribution {self!r}, but found invalid values:\n{value}')

    def _ws_shape(self, sample_shape):
        return torch.Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n):
        return self.sample((n,))

    def rsample(self, sample_shape=()):
        raise NotImplementedError

    def log_prob(self, value):
        raise NotImplementedError

    def entropy(self):
        raise NotImplementedError

    def cdf(self, value):
        raise NotImplementedError

    def icdf(self, value):
        raise NotImplementedError

    def perplexity(self):
        return torch.exp(self.entropy())

    def __repr__(self):
        given = [(name, self.__dict__[name]) for name in self._parameters if name in self.__dict__]
        shown = [f'{name}: {x if x.numel() == 1 else x.size()}' for name, x in given]
        return type(self).__name__ + '(' + ', '.join(shown) + ')'


class Normal(Distribution):
    has_rsample = True
    _parameters = 'loc', 'scale'
    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale.pow(2))

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _broadcast(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
        self._ws_need('loc', _unbounded)
        self._ws_need('scale', _positive)

    def rsample(self, sample_shape=()):
        return self.loc + torch.randn(self._ws_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device) * self.scale

    def log_prob(self, value):
        self._ws_need_value(value, _unbounded)
        return -((value - self.loc) ** 2) / (2 * self.scale ** 2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)

    def cdf(self, value):
        return 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def expand(self, batch_shape):
        return Normal(self.loc.expand(batch_shape), self.scale.expand(batch_shape), self._ws_validates)


class Laplace(Distribution):
    has_rsample = True
    _parameters = 'loc', 'scale'
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.pow(2))

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _broadcast(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
        self._ws_need('scale', _positive)

    def rsample(self, sample_shape=()):
        u = torch.rand(self._ws_shape(sample_shape), dtype=torch.float64).to(self.loc.device) - 0.5
        return self.loc - self.scale * (u.sign() * torch.log1p(-2 * u.abs())).to(self.loc.dtype)

    def log_prob(self, value):
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def entropy(self):
        return 1 + torch.log(2 * self.scale)


class Exponential(Distribution):
    has_rsample = True
    _parameters = 'rate',
    mean = stddev = property(lambda self: self.rate.reciprocal())
    variance = property(lambda self: self.rate.pow(-2))

    def __init__(self, rate, validate_args=None):
        self.rate, = _broadcast(rate)
        super().__init__(self.rate.shape, (), validate_args)
        self._ws_need('rate', _positive)

    def rsample(self, sample_shape=()):
        u = torch.rand(self._ws_shape(sample_shape), dtype=self.rate.dtype, device=self.rate.device)
        return -torch.log1p(-u) / self.rate

    def log_prob(self, value):
        self._ws_need_value(value, lambda x: x >= 0)
        return self.rate.log() - self.rate * value

    def entropy(self):
        return 1.0 - torch.log(self.rate)

    def cdf(self, value):
        return 1 - torch.exp(-self.rate * value)


class Uniform(Distribution):
    has_rsample = True
    _parameters = 'low', 'high'
    mean = property(lambda self: (self.high + self.low) / 2)
    stddev = property(lambda self: (self.high - self.low) / 12 ** 0.5)
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = _broadcast(low, high)
        super().__init__(self.low.shape, (), validate_args)
        if self._ws_validates and computes() and not (self.low < self.high).all():
            raise ValueError('Uniform is not defined when low>= high')

    def rsample(self, sample_shape=()):
        u = torch.rand(self._ws_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value):
        self._ws_need_value(value, lambda x: (x >= self.low) & (x <= self.high))
        inside = (self.low <= value) & (self.high > value)
        return torch.log(inside.type_as(self.low)) - torch.log(self.high - self.low)

    def cdf(self, value):
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return torch.log(self.high - self.low)


def _one_of(probs, logits):
    if (probs is None) == (logits is None):
        raise ValueError('Either `probs` or `logits` must be specified, but not both.')


def _inside(probs):
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


class _Discrete(Distribution):
    """Of its two parameters one is given, the other made when it is asked for."""
    _parameters = 'probs', 'logits'

    def __getattr__(self, name):
        if name not in self._parameters:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        with torch.enable_grad():
            made = self._ws_logits_of(_inside(self.probs)) if name == 'logits' else self._ws_probs_of(self.logits)
        setattr(self, name, made)
        return made


class Bernoulli(_Discrete):
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def __init__(self, probs=None, logits=None, validate_args=None):
        _one_of(probs, logits)
        if probs is not None:
            self.probs, = _broadcast(probs)
        else:
            self.logits, = _broadcast(logits)
        super().__init__((self.logits if probs is None else self.probs).shape, (), validate_args)
        if probs is not None:
            self._ws_need('probs', _unit)

    def _ws_logits_of(self, probs):
        return torch.log(probs) - torch.log1p(-probs)

    def _ws_probs_of(self, logits):
        return torch.sigmoid(logits)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._ws_shape(sample_shape)))

    def log_prob(self, value):
        self._ws_need_value(value, lambda x: (x == 0) | (x == 1))
        logits, value = torch.broadcast_tensors(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction='none')

    def entropy(self):
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction='none')


class Categorical(_Discrete):
    def __init__(self, probs=None, logits=None, validate_args=None):
        _one_of(probs, logits)
        given = logits if probs is None else probs
        if given.ndim < 1:
            raise ValueError(f"`{'logits' if probs is None else 'probs'}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], (), validate_args)
        self._ws_need('logits' if probs is None else 'probs', _unbounded if probs is None else _unit)

    param_shape = property(lambda self: self.probs.shape)
    mode = property(lambda self: self.probs.argmax(-1))

    def _ws_logits_of(self, probs):
        return torch.log(probs)

    def _ws_probs_of(self, logits):
        return F.softmax(logits, -1)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            probs, n = self.probs.reshape(-1, self._num_events), 1
            for size in sample_shape:
                n *= size
            drawn = torch.multinomial(probs, n, True)
            return drawn.transpose(0, 1).reshape(tuple(sample_shape) + tuple(self._batch_shape))

    def log_prob(self, value):
        self._ws_need_value(value, lambda x: (x >= 0) & (x < self._num_events))
        value, logits = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = torch.arange(self._num_events).reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values


class OneHotCategorical(Distribution):
    _parameters = ()

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)

    probs = mean = property(lambda self: self._categorical.probs)
    mode = property(lambda self: F.one_hot(self.probs.argmax(-1), self._categorical._num_events).to(self.probs.dtype))
    variance = property(lambda self: self.probs * (1 - self.probs))
    logits = property(lambda self: self._categorical.logits)

    def sample(self, sample_shape=()):
        return F.one_hot(self._categorical.sample(sample_shape), self._categorical._num_events).to(self.probs.dtype)

    def log_prob(self, value):
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()


def _sum_last(x, n):
    return x.reshape(tuple(x.shape[:x.ndim - n]) + (-1,)).sum(-1) if n else x


class Independent(Distribution):
    """The last dimensions of a batch as one event."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        shape, n = base_distribution.batch_shape, reinterpreted_batch_ndims
        if n > len(shape):
            raise ValueError(f'Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {n} vs '
                             f'{len(shape)}')
        at = len(shape) - n
        super().__init__(shape[:at], tuple(shape[at:]) + tuple(base_distribution.event_shape), validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return _sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return _sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f'Independent({self.base_dist}, {self.reinterpreted_batch_ndims})'


def _stacked(rows):
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


_FEW = 16  # rows of a matrix that is worth it number by number


def _cholesky(a):
    """The lower triangle L with a = L @ L.T, number by number where there are few."""
    n = a.shape[-1]
    if n > _FEW:
        return torch.linalg.cholesky(a)
    rows = []
    for i in range(n):
        row = []
        for j in range(i + 1):
            x = a[..., i, j]
            for k in range(j):
                x = x - row[k] * (row if i == j else rows[j])[k]
            row.append(x.sqrt() if i == j else x / rows[j][j])
        rows.append(row + [torch.zeros_like(row[0])] * (n - 1 - i))
    return _stacked(rows)


def _solve_lower(lower, b):
    """x with lower @ x = b, a vector or a batch of them."""
    if lower.shape[-1] > _FEW:
        return torch.linalg.solve_triangular(lower, b.unsqueeze(-1), upper=False).squeeze(-1)
    x = []
    for i in range(lower.shape[-1]):
        rest = b[..., i]
        for k in range(i):
            rest = rest - lower[..., i, k] * x[k]
        x.append(rest / lower[..., i, i])
    return torch.stack(x, -1)


class MultivariateNormal(Distribution):
    has_rsample = True
    _parameters = 'loc', 'covariance_matrix', 'scale_tril'
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: (self.scale_tril ** 2).sum(-1))

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if precision_matrix is not None:
            refuse('MultivariateNormal(precision_matrix=...) is not supported; give its covariance_matrix')
        if (covariance_matrix is None) == (scale_tril is None):
            raise ValueError('Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.')
        lower = _cholesky(covariance_matrix) if scale_tril is None else scale_tril
        n = loc.shape[-1]
        batch = torch.broadcast_shapes(lower.shape[:-2], loc.shape[:-1])
        self.loc, self.scale_tril = loc.expand(tuple(batch) + (n,)), lower.expand(tuple(batch) + (n, n))
        super().__init__(batch, (n,), validate_args)
        if scale_tril is None:
            self.covariance_matrix = covariance_matrix.expand(tuple(batch) + (n, n))
            self._ws_need('scale_tril', _unbounded)

    def __getattr__(self, name):
        if name == 'covariance_matrix':
            return self.scale_tril @ self.scale_tril.mT
        raise AttributeError(f"'MultivariateNormal' object has no attribute '{name}'")

    def __repr__(self):
        given = 'covariance_matrix' if 'covariance_matrix' in self.__dict__ else 'scale_tril'
        return f'MultivariateNormal(loc: {self.loc.size()}, {given}: {getattr(self, given).size()})'

    def rsample(self, sample_shape=()):
        eps = torch.randn(self._ws_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self.scale_tril @ eps.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self):
        return self.scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def log_prob(self, value):
        m = (_solve_lower(self.scale_tril, value - self.loc) ** 2).sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + m) - self._half_log_det()

    def entropy(self):
        return 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()


class Transform:
    """y = f(x), element by element: of a program's own, _call() and _inverse()."""
    bijective = False

    def __init__(self, cache_size=0):
        self._cache_size = cache_size

    def __call__(self, x):
        return self._call(x)

    def inv(self, y):
        return self._inverse(y)


class ExpTransform(Transform):
    def __call__(self, x):
        return x.exp()

    def inv(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class SigmoidTransform(Transform):
    def __call__(self, x):
        eps = torch.finfo(x.dtype)
        return torch.clamp(torch.sigmoid(x), min=eps.tiny, max=1.0 - eps.eps)

    def inv(self, y):
        limits = torch.finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -F.softplus(-x) - F.softplus(x)


class TanhTransform(Transform):
    def __call__(self, x):
        return x.tanh()

    def inv(self, y):
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class ComposeTransform(Transform):
    def __init__(self, parts, cache_size=0):
        self.parts = list(parts)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def inv(self, y):
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        total = 0
        for part in self.parts:
            y = part(x)
            total = total + part.log_abs_det_jacobian(x, y)
            x = y
        return total


class AffineTransform(Transform):
    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        if event_dim:
            refuse('AffineTransform(event_dim=...) is not supported; Independent makes dimensions an event')
        self.loc, self.scale = loc, scale

    def __call__(self, x):
        return self.loc + self.scale * x

    def inv(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        scale = self.scale if isinstance(self.scale, torch.Tensor) else torch.full_like(x, self.scale)
        return torch.abs(scale).log().expand(x.shape)


class TransformedDistribution(Distribution):
    def __init__(self, base_distribution, transforms, validate_args=None):
        self.base_dist = base_distribution
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        super().__init__(base_distribution.batch_shape, base_distribution.event_shape, validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def __repr__(self):
        return type(self).__name__ + '()'

    def rsample(self, sample_shape=()):
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        total = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            total = total - _sum_last(transform.log_abs_det_jacobian(x, value), len(self._event_shape))
            value = x
        return total + self.base_dist.log_prob(value)


class LogNormal(TransformedDistribution):
    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args), ExpTransform())

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp())

    def entropy(self):
        return self.base_dist.entropy() + self.loc

    def __repr__(self):
        return repr(self.base_dist).replace('Normal', 'LogNormal')


def _kl_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


def _kl_bernoulli(p, q):
    yes = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    no = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    yes = torch.where(q.probs == 0, torch.inf, yes)
    no = torch.where(q.probs == 1, torch.inf, no)
    return torch.where(p.probs == 0, 0.0, yes) + torch.where(p.probs == 1, 0.0, no)


def _kl_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = torch.where(q.probs == 0, torch.inf, t)
    return torch.where((p.probs == 0).expand(t.shape), 0.0, t).sum(-1)


def _kl_uniform(p, q):
    outside = (q.low > p.low) | (q.high < p.high)
    return torch.where(outside, torch.inf, torch.log((q.high - q.low) / (p.high - p.low)))


def _kl_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


def _kl_multivariate(p, q):
    n = p.event_shape[0]
    columns = [_solve_lower(q.scale_tril, p.scale_tril[..., :, k]) for k in range(n)]
    spread = sum([(column ** 2).sum(-1) for column in columns])
    m = (_solve_lower(q.scale_tril, q.loc - p.loc) ** 2).sum(-1)
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread + m - n)


def _kl_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _kl_laplace(p, q):
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -torch.log(ratio) + apart / q.scale + ratio * torch.exp(-apart / p.scale) - 1


def _kl_transformed(p, q):
    if len(p.transforms) != len(q.transforms) or any([type(s) is not type(t) for s, t in zip(p.transforms, q.transforms)]):
        raise NotImplementedError
    return _sum_last(kl_divergence(p.base_dist, q.base_dist), len(p.event_shape) - len(p.base_dist.event_shape))


_kl = [(kind, kind, formula) for kind, formula in (
    (Normal, _kl_normal), (Bernoulli, _kl_bernoulli), (Categorical, _kl_categorical), (Uniform, _kl_uniform),
    (Exponential, _kl_exponential), (Laplace, _kl_laplace), (MultivariateNormal, _kl_multivariate), (Independent, _kl_independent),
    (TransformedDistribution, _kl_transformed),
    (OneHotCategorical, lambda p, q: _kl_categorical(p._categorical, q._categorical)))]


def register_kl(type_p, type_q):
    """Decorates a formula of the program's own, which comes before those that are here."""

    def keep(formula):
        _kl.insert(0, (type_p, type_q, formula))
        return formula

    return keep


def _ws_distance(kinds, p, q):
    """How far the classes of a formula are above those of p and q, which comes first."""
    return type(p).__mro__.index(kinds[0]), type(q).__mro__.index(kinds[1])


def kl_divergence(p, q):
    fitting = [kinds for kinds in _kl if isinstance(p, kinds[0]) and isinstance(q, kinds[1])]
    if not fitting:
        raise NotImplementedError(f'No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}')
    return min(fitting, key=lambda kinds: _ws_distance(kinds, p, q))[2](p, q)


from torch.distributions._more import Gamma, Chi2, Dirichlet, Beta, StudentT, Poisson, Gumbel, Cauchy, HalfNormal
from torch.distributions._mixed import (Binomial, ExpRelaxedCategorical, Geometric, HalfCauchy, InverseGamma, LogitRelaxedBernoulli,
                                        LowRankMultivariateNormal, MixtureSameFamily, Multinomial, NegativeBinomial,
                                        OneHotCategoricalStraightThrough, Pareto, RelaxedBernoulli, RelaxedOneHotCategorical, Weibull)
