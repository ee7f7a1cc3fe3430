"""torch.distributions, torch.multinomial, torch.randperm, torch.Generator: what PyTorch says of densities, and of draws
whatever no stream of random numbers changes."""
import torch
from torch.distributions import (Bernoulli, Categorical, Exponential, Independent, Laplace, LogNormal, MultivariateNormal, Normal,
                                 OneHotCategorical, TanhTransform, TransformedDistribution, Uniform, kl_divergence)
from torch.distributions.normal import Normal as SameNormal

torch.manual_seed(0)
x = torch.tensor([0.3, -0.7])
normal = Normal(torch.tensor([0., 1.]), torch.tensor([1., 2.]))
print(normal, SameNormal(0., 1.), normal.batch_shape, normal.event_shape, type(normal.batch_shape))
print(normal.log_prob(x), normal.entropy(), normal.cdf(x), normal.variance)
print(normal.sample((3,)).shape, Normal(0, 1).sample().shape, normal.expand((4, 2)).rsample().shape)

loc, scale = torch.tensor([0.1, 0.2], requires_grad=True), torch.tensor([0.5, 0.6], requires_grad=True)
kl_divergence(Normal(loc, scale), Normal(0, 1)).sum().backward()
print(loc.grad, scale.grad)
print(Normal(loc, scale).rsample().requires_grad, Normal(loc, scale).sample().requires_grad)

actions = Categorical(logits=torch.tensor([[1., 2., 3.], [0., 0., 1.]]))
print(actions, actions.probs, actions.log_prob(torch.tensor([2, 0])), actions.entropy())
print(actions, actions.sample((4,)).shape, Categorical(torch.tensor([0., 1., 0.])).sample((5,)))
print(OneHotCategorical(torch.tensor([0., 1., 0.])).sample(), OneHotCategorical(torch.ones(4)).entropy())
coin = Bernoulli(torch.tensor([0.3, 0.6]))
print(coin, coin.log_prob(torch.tensor([1., 0.])), coin.entropy(), Bernoulli(logits=torch.tensor(0.)).mean)
print(Bernoulli(torch.tensor([0., 1.])).sample((2,)))
print(Uniform(-1., 3.).log_prob(torch.tensor([0.5, 1.])), Uniform(-1., 3.).entropy(), Uniform(0., 1.).mean)
print(Exponential(2.).log_prob(x.abs()), Laplace(0., 1.).log_prob(x), LogNormal(0., 1.).log_prob(x.abs()))
print(Independent(normal, 1).log_prob(x), Independent(normal, 1).event_shape)
gauss = MultivariateNormal(torch.zeros(2), torch.tensor([[2., 0.5], [0.5, 1.]]))
print(gauss.log_prob(torch.tensor([[0.1, 0.2], [1., 2.]])), gauss.entropy(), gauss.sample((3,)).shape)
print(kl_divergence(gauss, MultivariateNormal(torch.ones(2), torch.eye(2))))
print(TransformedDistribution(Normal(0., 1.), [TanhTransform()]).log_prob(x))
print(kl_divergence(Categorical(torch.tensor([0.2, 0.8])), Categorical(torch.tensor([0.5, 0.5]))),
      kl_divergence(coin, Bernoulli(torch.tensor([0.5, 0.5]))), kl_divergence(Uniform(0., 1.), Uniform(0.5, 2.)))
for wrong in (lambda: Normal(0., -1.), lambda: Categorical(torch.tensor([-1., 2.])), lambda: Bernoulli(1.5),
              lambda: Categorical(torch.tensor([0.5, 0.5])).log_prob(torch.tensor(3)), lambda: Uniform(1., 0.)):
    try:
        wrong()
    except ValueError:
        print('ValueError')


def close(share, expected):
    return bool(((share - expected).abs() < 0.02).all())


weights = torch.tensor([[0.1, 0.9, 0.], [0.5, 0., 0.5]])
print(torch.multinomial(weights, 2).sort(-1)[0], torch.multinomial(weights, 1).shape, weights[0].multinomial(1).shape)
drawn = torch.multinomial(torch.tensor([2., 3., 5.]), 20000, replacement=True)
print(drawn.shape, drawn.dtype, close(torch.bincount(drawn) / 20000, torch.tensor([0.2, 0.3, 0.5])))
drawn = torch.cat([torch.multinomial(torch.tensor([1., 1., 8.]), 1) for _ in range(4000)])
print(close(torch.bincount(drawn) / 4000, torch.tensor([0.1, 0.1, 0.8])))
print(close(torch.cat([normal.sample() for _ in range(20000)]).reshape(-1, 2).mean(0), normal.mean))
for wrong in (lambda: torch.multinomial(torch.tensor([-1., 2.]), 1), lambda: torch.multinomial(torch.zeros(2), 1),
              lambda: torch.multinomial(torch.ones(2), 3)):
    try:
        wrong()
    except RuntimeError as error:
        print(error)
order = torch.randperm(50)
print(order.sort()[0].equal(torch.arange(50)), order.equal(torch.arange(50)), order.dtype, torch.randperm(0))

one, two = torch.Generator().manual_seed(5), torch.Generator().manual_seed(5)
torch.manual_seed(1)
before = torch.rand(3)
torch.manual_seed(1)
print(torch.randn(3, generator=one).equal(torch.randn(3, generator=two)), torch.rand(3).equal(before))
print(torch.randperm(9, generator=one).equal(torch.randperm(9, generator=two)), torch.randn(2, generator=one).equal(
    torch.randn(2, generator=two)), torch.randn(2, generator=one).equal(torch.randn(2, generator=one)))
state = torch.get_rng_state()
first = torch.rand(2)
torch.set_rng_state(state)
print(torch.rand(2).equal(first), torch.empty(2000).exponential_().min() > 0, torch.empty(9).random_(2, 4).unique())


@torch.compile
def loss(mu, log_scale, x):
    q = Normal(mu, log_scale.exp())
    return -q.log_prob(x).sum(-1) + kl_divergence(q, Normal(torch.zeros_like(mu), torch.ones_like(mu))).sum(-1)


print(loss(torch.ones(2, 3) * 0.1, torch.zeros(2, 3), torch.ones(2, 3)))


@torch.compile(fullgraph=True)
def pick(logits):
    return torch.multinomial(torch.softmax(logits, -1), 1)


print(pick(torch.tensor([[0., 50., 0.], [50., 0., 0.]])))

# -- of gamma functions; numpy draws by the same stream
import numpy as np
from torch.distributions import Beta, Cauchy, Chi2, Dirichlet, Gamma, Gumbel, HalfNormal, Poisson, StudentT


def all_shown(*ts):
    print(*[[round(v, 4) + 0.0 for v in t.detach().flatten().tolist()] for t in ts])


a, b = torch.tensor([0.5, 2.0, 3.5], requires_grad=True), torch.tensor([1.5, 1.0, 0.7])
v = torch.tensor([0.2, 0.4, 0.7])
for d, q in ((Gamma(a, b), Gamma(2.0, 3.0)), (Beta(a, b), Beta(b, b)), (Chi2(a), None), (Gumbel(a, b), None), (Cauchy(a, b), None), (StudentT(a), None), (HalfNormal(a), None)):
    lp = d.log_prob(v)
    all_shown(lp, torch.autograd.grad(lp.sum(), a)[0])
    if not isinstance(d, StudentT):
        all_shown(d.entropy())
    if q is not None:
        all_shown(d.mean, d.variance, d.mode, kl_divergence(d, q))
    print(d.sample((2,)).shape, d)
d = Dirichlet(a)
w = torch.tensor([0.2, 0.3, 0.5])
all_shown(d.log_prob(w), d.entropy(), d.mean, d.variance, kl_divergence(d, Dirichlet(b)))
print((d.sample((4,)).sum(-1) - 1).abs().max() < 1e-6, d.sample().shape, d.batch_shape, d.event_shape)
all_shown(Poisson(b).log_prob(torch.tensor([0.0, 2.0, 3.0])), kl_divergence(Poisson(b), Poisson(v)))
torch.manual_seed(0)
for drawn, mean, variance in ((Gamma(torch.tensor([0.3, 1.0, 4.0]), 2.0), [0.15, 0.5, 2.0], [0.075, 0.25, 1.0]), (Beta(0.4, 0.4), 0.5, 0.25 / 1.8)):
    many = drawn.sample((500,))
    print((many.mean(0) - torch.tensor(mean)).abs().max() < 0.2, (many.var(0) - torch.tensor(variance)).abs().max() < 0.4)
np.random.seed(3)
print([round(np.random.beta(*ab), 6) for ab in ((0.2, 0.2), (1.0, 1.0), (0.5, 2.0), (3.0, 4.0))], np.random.beta(1.5, 2, 3).round(6))
print(np.random.gamma(0.3, 2.0, 2).round(6), np.random.exponential(2.0, 2).round(6), np.random.dirichlet([0.5, 1, 2], 2).round(6), np.random.rand())
