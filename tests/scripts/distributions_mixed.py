# Distributions of counts, relaxations, mixtures and heavy tails: densities and their gradients, moments, draws; KL of a program.
import torch
from torch.distributions import *
import torch.distributions as D
def show(*ts):
    print(*[[round(v, 4) + 0.0 for v in torch.as_tensor(t).detach().double().flatten().tolist()] for t in ts])
a, b = torch.tensor([0.5, 0.2, 0.9], requires_grad=True), torch.tensor([1.5, 1.0, 0.7])
counts = torch.tensor([0.0, 2.0, 3.0])
for d, v in ((D.Geometric(a), counts), (D.Binomial(4, a), counts), (D.Binomial(torch.tensor([2., 3., 5.]), logits=a), counts), (D.NegativeBinomial(b, a), counts), (D.NegativeBinomial(3.0, logits=a), counts),
             (D.Weibull(a, b), b), (D.Pareto(a, b), b + 1), (D.InverseGamma(a, b), b), (D.HalfCauchy(a), b), (D.RelaxedBernoulli(torch.tensor(0.5), a), torch.tensor([0.2, 0.5, 0.9])),
             (D.RelaxedOneHotCategorical(torch.tensor(0.7), a), torch.tensor([0.2, 0.5, 0.3])), (D.Multinomial(5, a), counts), (D.OneHotCategoricalStraightThrough(a), torch.tensor([0., 1., 0.])),
             (D.LowRankMultivariateNormal(a, torch.tensor([[1., 2.], [0.5, 0.3], [0.2, 1.]]), b), counts),
             (D.MixtureSameFamily(D.Categorical(logits=torch.randn(3, 2) * 0 + a.unsqueeze(-1)), D.Normal(torch.tensor([[0., 1.], [2., 3.], [1., 1.]]), torch.tensor([[1., 2.], [2., 0.5], [1., 3.]]))), counts),
             (D.MixtureSameFamily(D.Categorical(a), D.Independent(D.Normal(torch.arange(6.).reshape(3, 2), torch.ones(3, 2)), 1)), torch.tensor([0.5, 1.5]))):
    lp = d.log_prob(v)
    show(lp, torch.autograd.grad(lp.sum(), a, allow_unused=True)[0])
    for what in ('mean', 'mode', 'variance'):
        try:
            show(getattr(d, what))
        except (NotImplementedError, AttributeError):
            pass
    try:
        show(d.entropy())
    except (NotImplementedError, AttributeError):
        pass
    print(type(d).__name__, d.sample((4,)).shape, d.sample().dtype, d.batch_shape, d.event_shape)
show(kl_divergence(D.Geometric(a), D.Geometric(a * 0.5)), kl_divergence(D.Laplace(a, b), D.Laplace(b, a)), kl_divergence(D.HalfNormal(a), D.HalfNormal(b)), kl_divergence(D.LogNormal(a, b), D.LogNormal(b, a)))
class Mine(D.Normal):
    pass
@D.register_kl(Mine, Mine)
def of_mine(p, q):
    return (p.loc - q.loc) * 100
@D.kl.register_kl(Mine, D.Normal)
def of_normal(p, q):
    return (p.loc - q.loc) * 10
show(kl_divergence(Mine(a, b), Mine(b, a)), kl_divergence(Mine(a, b), D.Normal(b, a)), kl_divergence(D.Normal(a, b), Mine(b, a)))
torch.manual_seed(0)
m = (torch.arange(400.) * 0.37).sin().reshape(20, 20)
c = m @ m.T + 20 * torch.eye(20)
n = D.MultivariateNormal(torch.zeros(20), c)
show(n.log_prob(torch.ones(20)), n.entropy(), kl_divergence(n, D.MultivariateNormal(torch.ones(20), 2 * c)))
for d, mean in ((D.Geometric(torch.tensor(0.3)), 2.3333), (D.Binomial(7, torch.tensor(0.3)), 2.1), (D.NegativeBinomial(3.0, torch.tensor(0.4)), 2.0), (D.Weibull(1.0, 2.0), 0.8862), (D.Pareto(1.0, 4.0), 1.3333),
                (D.MixtureSameFamily(D.Categorical(torch.tensor([0.25, 0.75])), D.Normal(torch.tensor([0., 4.]), torch.ones(2))), 3.0)):
    print(type(d).__name__, abs(d.sample((4000,)).mean().item() - mean) < 0.15)
import numpy as np
np.random.seed(2)
print(np.random.rayleigh(2.0, 3).round(6))
