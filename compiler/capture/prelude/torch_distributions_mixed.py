"""torch.distributions: counts, relaxations of choices, mixtures, and what is left of those with heavy tails."""
import math
import torch
import torch.nn.functional as F
from torch.distributions import (Categorical, Distribution, ExpTransform, OneHotCategorical, SigmoidTransform, TransformedDistribution,
                                 _broadcast, _Discrete, _inside, _kl, _one_of, _positive, _solve_lower)
from torch.distributions._more import Cauchy, Gamma, _EULER


def _uniform(like, shape):
    return _inside(torch.rand(shape, dtype=like.dtype))


class _Odds(_Discrete):
    """One of two outcomes again and again: probs, or logits of it."""

    def _ws_given(self, probs, logits, *others):
        _one_of(probs, logits)
        given, *others = _broadcast(logits if probs is None else probs, *others)
        setattr(self, 'logits' if probs is None else 'probs', given)
        return (given.shape, *others)

    def _ws_logits_of(self, probs):
        return torch.log(probs) - torch.log1p(-probs)

    def _ws_probs_of(self, logits):
        return torch.sigmoid(logits)


class Geometric(_Odds):
    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def __init__(self, probs=None, logits=None, validate_args=None):
        shape, = self._ws_given(probs, logits)
        super().__init__(shape, (), validate_args)
        if probs is not None:
            self._ws_need('probs', _positive)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            shape = self._ws_shape(sample_shape)
            return (_uniform(self.probs, shape).log() / (-self.probs.expand(shape)).log1p()).floor()

    def log_prob(self, value):
        self._ws_need_value(value, lambda x: (x >= 0) & (x == x.floor()))
        value, probs = torch.broadcast_tensors(value, self.probs)
        probs = torch.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction='none') / self.probs


class Binomial(_Odds):
    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        shape, self.total_count = self._ws_given(probs, logits, total_count)
        super().__init__(shape, (), validate_args)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            shape, most = self._ws_shape(sample_shape), int(self.total_count.max())
            tried = torch.rand((most, *shape), dtype=self.probs.dtype) < self.probs
            counts = torch.arange(most).reshape((most,) + (1,) * len(shape)) < self.total_count
            return (tried & counts).sum(0).to(self.probs.dtype)

    def log_prob(self, value):
        n = self.total_count
        above = (self.logits.clamp(min=0) + self.logits - self.logits.clamp(max=0)) / 2  # whose derivative at 0 is a half
        most = n * above + n * torch.log1p(torch.exp(-self.logits.abs())) - torch.lgamma(n + 1)
        return value * self.logits - torch.lgamma(value + 1) - torch.lgamma(n - value + 1) - most

    def enumerate_support(self, expand=True):
        most = int(self.total_count.max())
        if self.total_count.min() != most:
            raise NotImplementedError('Inhomogeneous total count not supported by `entropy`.')
        values = torch.arange(1 + most, dtype=self.logits.dtype).reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values

    def entropy(self):
        found = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(found) * found).sum(0)


class NegativeBinomial(_Odds):
    mean = property(lambda self: self.total_count * torch.exp(self.logits))
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / torch.sigmoid(-self.logits))

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        shape, self.total_count = self._ws_given(probs, logits, total_count)
        super().__init__(shape, (), validate_args)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return torch.poisson(Gamma(self.total_count, torch.exp(-self.logits), False).sample(sample_shape))

    def log_prob(self, value):
        self._ws_need_value(value, lambda x: (x >= 0) & (x == x.floor()))
        n = self.total_count
        found = n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        norm = -torch.lgamma(n + value) + torch.lgamma(1.0 + value) + torch.lgamma(n)
        return found - torch.where(n + value == 0.0, 0.0, norm)


class Multinomial(Distribution):
    _parameters = ()
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self.total_count, self._categorical = total_count, Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        return F.one_hot(drawn, self._categorical._num_events).sum(0).to(self.probs.dtype)

    def log_prob(self, value):
        logits, value = torch.broadcast_tensors(self.logits, value)
        logits = torch.where((value == 0) & (logits == -math.inf), 0.0, logits)
        return torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self):
        n, of_one = self.total_count, Binomial(self.total_count, self.probs)
        counts = of_one.enumerate_support(False)[1:]
        orders = (torch.exp(of_one.log_prob(counts)) * torch.lgamma(counts + 1)).sum([0, -1])
        return n * self._categorical.entropy() - math.lgamma(n + 1) + orders


class OneHotCategoricalStraightThrough(OneHotCategorical):
    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class LogitRelaxedBernoulli(_Odds):
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        shape, = self._ws_given(probs, logits)
        self.temperature = temperature
        super().__init__(shape, (), validate_args)

    def rsample(self, sample_shape=()):
        shape = self._ws_shape(sample_shape)
        probs, u = _inside(self.probs.expand(shape)), _uniform(self.probs, shape)
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        logits, value = torch.broadcast_tensors(self.logits, value)
        scaled = logits - value * self.temperature
        return torch.as_tensor(self.temperature).log() + scaled - 2 * scaled.exp().log1p()


class ExpRelaxedCategorical(Distribution):
    has_rsample = True
    _parameters = ()
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)

    def rsample(self, sample_shape=()):
        u = _uniform(self.logits, self._ws_shape(sample_shape))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value):
        n = self._categorical._num_events
        logits, value = torch.broadcast_tensors(self.logits, value)
        score = logits - value * self.temperature
        score = (score - score.logsumexp(-1, keepdim=True)).sum(-1)
        return score + math.lgamma(n) + torch.as_tensor(self.temperature).log() * (n - 1)


class _Relaxed(TransformedDistribution):
    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)


class RelaxedBernoulli(_Relaxed):
    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args)


class RelaxedOneHotCategorical(_Relaxed):
    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits), ExpTransform(), validate_args)


class MixtureSameFamily(Distribution):
    """The last dimension of the components' batch are those that mixture_distribution, a Categorical, chooses among."""
    _parameters = ()

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(' The Mixture distribution needs to be an  instance of torch.distributions.Categorical')
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)
    mean = property(lambda self: self._ws_mixed(self.component_distribution.mean))

    def _ws_mixed(self, x):
        n = len(self._event_shape)
        probs = self.mixture_distribution.probs
        return (probs.reshape(tuple(probs.shape) + (1,) * n) * x).sum(-1 - n)

    def _ws_beside(self, x):
        return x.unsqueeze(-1 - len(self._event_shape))

    @property
    def variance(self):
        of_means = (self.component_distribution.mean - self._ws_beside(self.mean)).pow(2.0)
        return self._ws_mixed(self.component_distribution.variance) + self._ws_mixed(of_means)

    def log_prob(self, x):
        of_each = self.component_distribution.log_prob(self._ws_beside(x))
        return torch.logsumexp(of_each + torch.log_softmax(self.mixture_distribution.logits, -1), -1)

    def cdf(self, x):
        return (self.component_distribution.cdf(self._ws_beside(x)) * self.mixture_distribution.probs).sum(-1)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            n, chosen = len(self._event_shape), self.mixture_distribution.sample(sample_shape)
            of_each = self.component_distribution.sample(sample_shape)
            at = chosen.reshape(tuple(chosen.shape) + (1,) * (n + 1)).expand(tuple(chosen.shape) + (1,) + tuple(self._event_shape))
            return of_each.gather(-1 - n, at).squeeze(-1 - n)


class LowRankMultivariateNormal(Distribution):
    """Covariance W Wᵀ + diag(d), by the Cholesky factor of the small matrix I + Wᵀ W / d."""
    has_rsample = True
    _parameters = ()
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: (self.cov_factor ** 2).sum(-1) + self.cov_diag)
    covariance_matrix = property(lambda self: self.cov_factor @ self.cov_factor.mT + torch.diag_embed(self.cov_diag))

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        shape = torch.broadcast_shapes(loc.shape, cov_diag.shape, cov_factor.shape[:-1])
        self.loc, self.cov_diag = loc.expand(shape), cov_diag.expand(shape)
        self.cov_factor = cov_factor.expand(tuple(shape) + (cov_factor.shape[-1],))
        self._ws_turned = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        self._ws_tril = torch.linalg.cholesky(self._ws_turned @ self.cov_factor + torch.eye(cov_factor.shape[-1], dtype=loc.dtype))
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def _ws_log_det(self):
        return 2 * self._ws_tril.diagonal(0, -2, -1).log().sum(-1) + self.cov_diag.log().sum(-1)

    def rsample(self, sample_shape=()):
        shape = self._ws_shape(sample_shape)
        small = torch.randn(tuple(shape[:-1]) + (self.cov_factor.shape[-1], 1), dtype=self.loc.dtype)
        return self.loc + (self.cov_factor @ small).squeeze(-1) + self.cov_diag.sqrt() * torch.randn(shape, dtype=self.loc.dtype)

    def log_prob(self, value):
        off = value - self.loc
        small = _solve_lower(self._ws_tril, (self._ws_turned @ off.unsqueeze(-1)).squeeze(-1))
        m = (off ** 2 / self.cov_diag).sum(-1) - (small ** 2).sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._ws_log_det() + m)

    def entropy(self):
        return 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._ws_log_det())


class _OfTwo(Distribution):
    has_rsample = True

    def __init__(self, first, second, validate_args=None):
        first, second = _broadcast(first, second)
        setattr(self, self._parameters[0], first)
        setattr(self, self._parameters[1], second)
        super().__init__(first.shape, (), validate_args)
        self._ws_need(self._parameters[0], _positive)
        self._ws_need(self._parameters[1], _positive)


class Weibull(_OfTwo):
    _parameters = 'scale', 'concentration'
    mean = property(lambda self: self.scale * torch.exp(torch.lgamma(1 + 1 / self.concentration)))
    mode = property(lambda self: self.scale * ((self.concentration - 1) / self.concentration) ** (1 / self.concentration))

    @property
    def variance(self):
        k = 1 / self.concentration
        return self.scale.pow(2) * (torch.exp(torch.lgamma(1 + 2 * k)) - torch.exp(2 * torch.lgamma(1 + k)))

    def rsample(self, sample_shape=()):
        u = _uniform(self.scale, self._ws_shape(sample_shape))
        return self.scale * (-(-u).log1p()) ** (1 / self.concentration)

    def log_prob(self, value):
        part = value / self.scale
        return (self.concentration / self.scale).log() + (self.concentration - 1) * part.log() - part ** self.concentration

    def entropy(self):
        return _EULER * (1 - 1 / self.concentration) + torch.log(self.scale / self.concentration) + 1


class Pareto(_OfTwo):
    _parameters = 'scale', 'alpha'
    mode = property(lambda self: self.scale)

    @property
    def mean(self):
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def rsample(self, sample_shape=()):
        return self.scale * (-_uniform(self.scale, self._ws_shape(sample_shape)).log() / self.alpha).exp()

    def log_prob(self, value):
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class InverseGamma(_OfTwo):
    _parameters = 'concentration', 'rate'
    mean = property(lambda self: torch.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf))
    mode = property(lambda self: self.rate / (self.concentration + 1))
    variance = property(lambda self: torch.where(self.concentration > 2, self.rate.square() / (
        (self.concentration - 1).square() * (self.concentration - 2)), math.inf))

    def rsample(self, sample_shape=()):
        return Gamma(self.concentration, self.rate, False).rsample(sample_shape).reciprocal()

    def log_prob(self, value):
        a = self.concentration
        return a * self.rate.log() - torch.lgamma(a) - (a + 1) * value.log() - self.rate / value

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + torch.lgamma(a) - (1 + a) * torch.digamma(a)


class HalfCauchy(Distribution):
    has_rsample = True
    _parameters = ()
    mode = property(lambda self: torch.zeros_like(self.scale))
    mean = variance = property(lambda self: torch.full_like(self.scale, math.inf))

    def __init__(self, scale, validate_args=None):
        self.scale, = _broadcast(scale)
        super().__init__(self.scale.shape, (), validate_args)
        self._ws_need('scale', _positive)

    def rsample(self, sample_shape=()):
        return Cauchy(torch.zeros_like(self.scale), self.scale, False).rsample(sample_shape).abs()

    def log_prob(self, value):
        found = Cauchy(torch.zeros_like(self.scale), self.scale, False).log_prob(value) + math.log(2)
        return torch.where(value >= 0, found, -math.inf)

    def entropy(self):
        return math.log(2 * math.pi) + self.scale.log()


_kl.append((Geometric, Geometric, lambda p, q: -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits))
