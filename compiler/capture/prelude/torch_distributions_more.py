"""torch.distributions: those made of gamma functions, and some more of one variable."""
import math
import torch
from torch.distributions import Distribution, Normal, _broadcast, _kl, _positive
from _warpsmith import computes, is_differentiated, is_script, refuse

_EULER = 0.57721566490153286060


def _xlogy(x, y):
    return torch.special.xlogy(x, y)


def _gamma_draw(shape):
    """Marsaglia and Tsang's: of 16 tries each element takes the first that is accepted; of 10^20 elements one has none."""
    if torch.is_grad_enabled() and (shape.requires_grad if is_script() else is_differentiated()):
        refuse('rsample() through a gamma, whose gradient goes through the draw, is not supported; sample() is')
    wide = shape.detach().double()
    small = wide < 1
    d = torch.where(small, wide + 1, wide) - 1.0 / 3.0
    c = (9.0 * d).rsqrt()
    found, open_ = d, torch.ones_like(d, dtype=torch.bool)
    for _ in range(16):
        x, u = torch.randn_like(d), torch.rand_like(d)
        v = (1 + c * x) ** 3
        taken = (v > 0) & (torch.log(u) < 0.5 * x * x + d - d * v + d * torch.log(v.clamp(min=1e-300)))
        found = torch.where(open_ & taken, d * v, found)
        open_ = open_ & ~taken
    found = torch.where(small, found * torch.rand_like(d) ** (1.0 / wide), found).to(shape.dtype)
    return found.clamp(min=torch.finfo(shape.dtype).tiny)


class Gamma(Distribution):
    has_rsample = True
    _parameters = 'concentration', 'rate'
    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = _broadcast(concentration, rate)
        super().__init__(self.concentration.shape, (), validate_args)
        self._ws_need('concentration', _positive)
        self._ws_need('rate', _positive)

    def rsample(self, sample_shape=()):
        return _gamma_draw(self.concentration.expand(self._ws_shape(sample_shape))) / self.rate

    def log_prob(self, value):
        self._ws_need_value(value, lambda x: x >= 0)
        return (_xlogy(self.concentration, self.rate) + _xlogy(self.concentration - 1, value) - self.rate * value
                - torch.lgamma(self.concentration))

    def entropy(self):
        a = self.concentration
        return a - torch.log(self.rate) + torch.lgamma(a) + (1.0 - a) * torch.digamma(a)


class Chi2(Gamma):
    _parameters = ()

    def __init__(self, df, validate_args=None):
        df, = _broadcast(df)
        super().__init__(0.5 * df, torch.tensor(0.5, dtype=df.dtype), validate_args)

    df = property(lambda self: self.concentration * 2)


class Dirichlet(Distribution):
    has_rsample = True
    _parameters = 'concentration',
    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError('`concentration` parameter must be at least one-dimensional.')
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)
        self._ws_need('concentration', _positive)

    @property
    def mode(self):
        """Of concentrations that are all below 1 the corner of the largest."""
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = torch.arange(mode.size(-1)) == mode.argmax(-1, keepdim=True)
        return torch.where((self.concentration < 1).all(-1, keepdim=True), corner.to(mode.dtype), mode)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        drawn = _gamma_draw(self.concentration.expand(self._ws_shape(sample_shape)))
        return drawn / drawn.sum(-1, True)

    def log_prob(self, value):
        self._ws_need_value(value, lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6))
        a = self.concentration
        return _xlogy(a - 1.0, value).sum(-1) + torch.lgamma(a.sum(-1)) - torch.lgamma(a).sum(-1)

    def entropy(self):
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return (torch.lgamma(a).sum(-1) - torch.lgamma(total) - (k - total) * torch.digamma(total)
                - ((a - 1.0) * torch.digamma(a)).sum(-1))


class Beta(Distribution):
    has_rsample = True
    _parameters = 'concentration1', 'concentration0'

    def __init__(self, concentration1, concentration0, validate_args=None):
        a, b = _broadcast(concentration1, concentration0)
        self._dirichlet = Dirichlet(torch.stack([a, b], -1), validate_args)
        super().__init__(a.shape, (), validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._dirichlet.mode[..., 0])

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value):
        self._ws_need_value(value, lambda x: (x >= 0) & (x <= 1))
        return self._dirichlet.log_prob(torch.stack([value, 1.0 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()


class StudentT(Distribution):
    has_rsample = True
    _parameters = 'df', 'loc', 'scale'

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = _broadcast(df, loc, scale)
        super().__init__(self.df.shape, (), validate_args)
        self._ws_need('df', _positive)
        self._ws_need('scale', _positive)

    def rsample(self, sample_shape=()):
        shape = self._ws_shape(sample_shape)
        x = torch.randn(shape, dtype=self.df.dtype) * torch.rsqrt(2 * _gamma_draw(0.5 * self.df.expand(shape)) / self.df)
        return self.loc + self.scale * x

    def log_prob(self, value):
        y = (value - self.loc) / self.scale
        z = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + torch.lgamma(0.5 * self.df)
             - torch.lgamma(0.5 * (self.df + 1.0)))
        return -0.5 * (self.df + 1.0) * torch.log1p(y ** 2.0 / self.df) - z


def _small_poisson_draw(rate, generator):
    """Of a rate below 10: how many of the sums of probabilities an even draw is above; the 64th is 1 in f64."""
    u, term = torch.rand_like(rate, generator=generator), (-rate).exp()
    total, found = term, torch.zeros_like(rate)
    for k in range(1, 64):
        if computes() and (u <= total).all():
            break
        found = found + (u > total)
        term = term * rate / k
        total = total + term
    return found


def _large_poisson_draw(rate, generator):
    """Hoermann's PTRS, of a rate of 10 and more: of 24 tries each element takes the first that is accepted, which eight of ten
    are; of 10^16 elements one has none."""
    root, log_rate = rate.sqrt(), rate.log()
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    scale, right = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    found, open_ = rate.floor(), torch.ones_like(rate, dtype=torch.bool)
    for _ in range(24):
        u, v = [torch.rand_like(rate, generator=generator) for _ in range(2)]
        u = u - 0.5
        near = 0.5 - u.abs()
        k = ((2 * a / near + b) * u + rate + 0.43).floor()
        likely = (v * scale / (a / (near * near) + b)).log() <= k * log_rate - rate - torch.lgamma(k.clamp(min=0) + 1)
        taken = ((near >= 0.07) & (v <= right)) | ((k >= 0) & ((near >= 0.013) | (v <= near)) & likely)
        found = torch.where(open_ & taken, k, found)
        open_ = open_ & ~taken
        if computes() and not open_.any():
            break
    return found


def _poisson_draw(rate, generator=None):
    wide = rate.detach().double()
    few, many = _small_poisson_draw(wide.clamp(max=10), generator), _large_poisson_draw(wide.clamp(min=10), generator)
    return torch.where(wide < 10, few, many).to(rate.dtype)


class Poisson(Distribution):
    _parameters = 'rate',
    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())

    def __init__(self, rate, validate_args=None):
        self.rate, = _broadcast(rate)
        super().__init__(self.rate.shape, (), validate_args)
        self._ws_need('rate', lambda x: x >= 0)

    def sample(self, sample_shape=()):
        return torch.poisson(self.rate.detach().expand(self._ws_shape(sample_shape)))

    def log_prob(self, value):
        self._ws_need_value(value, lambda x: (x >= 0) & (x == x.floor()))
        rate, value = torch.broadcast_tensors(self.rate, value)
        return _xlogy(value, rate) - rate - torch.lgamma(value + 1)


class Gumbel(Distribution):
    has_rsample = True
    _parameters = 'loc', 'scale'
    mean = property(lambda self: self.loc + self.scale * _EULER)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _broadcast(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
        self._ws_need('scale', _positive)

    def rsample(self, sample_shape=()):
        u = torch.rand(self._ws_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc - self.scale * torch.log(-torch.log(u.clamp(min=torch.finfo(u.dtype).tiny, max=1 - torch.finfo(u.dtype).eps)))

    def log_prob(self, value):
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self):
        return self.scale.log() + (1 + _EULER)


class Cauchy(Distribution):
    has_rsample = True
    _parameters = 'loc', 'scale'
    mode = property(lambda self: self.loc)

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _broadcast(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
        self._ws_need('scale', _positive)

    def rsample(self, sample_shape=()):
        return self.loc + torch.tan(math.pi * (torch.rand(self._ws_shape(sample_shape), dtype=self.loc.dtype) - 0.5)) * self.scale

    def log_prob(self, value):
        return -math.log(math.pi) - self.scale.log() - torch.log1p(((value - self.loc) / self.scale) ** 2)

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class HalfNormal(Distribution):
    has_rsample = True
    _parameters = ()
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))

    def __init__(self, scale, validate_args=None):
        self.scale, = _broadcast(scale)
        super().__init__(self.scale.shape, (), validate_args)
        self._ws_need('scale', _positive)

    def rsample(self, sample_shape=()):
        return (torch.randn(self._ws_shape(sample_shape), dtype=self.scale.dtype) * self.scale).abs()

    def log_prob(self, value):
        found = Normal(torch.zeros_like(self.scale), self.scale, False).log_prob(value) + math.log(2)
        return torch.where(value >= 0, found, -math.inf)

    def entropy(self):
        return 0.5 * math.log(2 * math.pi) + 0.5 + self.scale.log() - math.log(2)


def _kl_gamma(p, q):
    return (q.concentration * (p.rate / q.rate).log() + torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
            + (p.concentration - q.concentration) * torch.digamma(p.concentration)
            + (q.rate - p.rate) * (p.concentration / p.rate))


def _kl_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    return (torch.lgamma(total) - torch.lgamma(b.sum(-1)) - (torch.lgamma(a) - torch.lgamma(b)).sum(-1)
            + ((a - b) * (torch.digamma(a) - torch.digamma(total).unsqueeze(-1))).sum(-1))


_kl += [(kind, kind, formula) for kind, formula in (
    (Gamma, _kl_gamma), (Dirichlet, _kl_dirichlet), (Beta, lambda p, q: _kl_dirichlet(p._dirichlet, q._dirichlet)),
    (HalfNormal, lambda p, q: 0.5 * ((p.scale / q.scale).pow(2) - 1) - (p.scale / q.scale).log()),
    (Poisson, lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)))]
