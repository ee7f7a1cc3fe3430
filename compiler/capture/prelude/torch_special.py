"""torch.special: other names of functions of torch, and a few of its own."""
import torch
from torch import sigmoid as expit, erf, erfc, exp2, expm1, log1p, round, sinc, logsumexp, logit, xlogy, erfinv
from torch import digamma, digamma as psi, i0
from torch._tensor import _bessel
from torch import lgamma as gammaln
from torch import softmax, log_softmax


def entr(x):
    x = x if x.is_floating_point() else x.float()
    return torch.where(x == 0, 0, torch.where(x < 0, -torch.inf, -x * x.log()))


def ndtr(x):
    return torch.erfc(x * -0.7071067811865476) / 2


def xlog1py(x, y):
    return torch.where((x == 0) & (y == y), 0, x * torch.log1p(y))


def i0e(x):
    return _bessel(x, 0, True)


def i1(x):
    return _bessel(x, 1, False)


def i1e(x):
    return _bessel(x, 1, True)
