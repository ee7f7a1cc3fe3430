"""Rows that a mask picks out, in compiled functions: in one graph where their number is not asked for."""
import torch
import torch.nn as nn
import torch.nn.functional as F


@torch.compile
def masked_loss(logits, labels):
    valid = labels != 0
    return F.cross_entropy(logits[valid], labels[valid])


@torch.compile
def kept(x):
    s = x[x > 0]
    return s * 2, s.sum()


@torch.compile
def shape(x):
    s = x[x > 0]
    n = s.shape[0]
    return s.sum() / n


@torch.compile
def update(x, y):
    m = x > 1
    x[m] = y[m] * 2
    return x.sum()


torch.manual_seed(0)
logits = torch.linspace(-1, 1, 24).reshape(2, 3, 4).requires_grad_()
labels = torch.tensor([[1, 0, 3], [2, 1, 0]])
for _ in range(2):
    loss = masked_loss(logits, labels)
    loss.backward()
    print(round(loss.item(), 5), [round(v, 5) for v in logits.grad.flatten().tolist()])
    logits.grad = None
x = torch.arange(-3., 4.)
for _ in range(2):
    a, b = kept(x)
    print(a, b, a.shape)
    print(shape(x))
z = torch.arange(4.)
print(update(z, torch.full((4,), 5.)), z)
print(update(z, torch.full((4,), 5.)), z)


@torch.compile
def several(x, y):
    m = x > 0
    p = x[m]
    q = y[m]
    if x.shape[0] > 3:
        p = p + q
    r = p.mean()
    w = p[:2]
    return r, w


print(several(x, x * 3))
print(several(x[:3] + 2.5, x[:3]))


# -- places of what a mask picks, as routers of experts have them
class Experts(nn.Module):
    def __init__(self, n=3, dim=4):
        super().__init__()
        self.gate = nn.Linear(dim, n, bias=False)
        self.experts = nn.ModuleList([nn.Linear(dim, dim) for _ in range(n)])

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        by_pair, by_sum, by_row = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x)
        hot = F.one_hot(chosen, len(self.experts)).permute(2, 1, 0)
        for i, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == i)
            by_pair[token] += expert(x[token]) * weights[token, slot, None]
            slot, token = torch.where(hot[i])  # counts are no bools
            by_sum.index_add_(0, token, expert(x[token]) * weights[token, slot, None])
            rows = (chosen == i).any(-1).nonzero().squeeze(1)
            by_row[rows] += expert(x[rows]) * (weights * (chosen == i)).sum(-1, keepdim=True)[rows]
        return by_pair, by_sum, by_row


torch.manual_seed(3)
experts, x = Experts(), torch.randn(6, 4)
for run in (experts, torch.compile(experts, fullgraph=True)):
    results, grads = run(x), []
    for result in results:
        experts.zero_grad()
        result.square().sum().backward(retain_graph=True)
        grads.append([p.grad.clone() for p in experts.parameters()])
    print([torch.allclose(results[0], other, atol=1e-6) for other in results],
          [torch.allclose(a, b, atol=1e-5) for other in grads for a, b in zip(grads[0], other)])


@torch.compile(fullgraph=True)
def at_places(x, y):
    i, j = (x > 0).nonzero(as_tuple=True)
    y[i, j] = 5.0
    y[i] = y[i] - 1
    rows = torch.argwhere(x[:, 0] < 0)[:, 0]
    y[rows, 1] = x[rows, 0] * 2
    return y, x[i, j].log().sum(), (x[rows] * 2).mean()


x, y = torch.tensor([[1.0, -2.0], [-3.0, 4.0], [-5.0, -6.0]]), torch.zeros(3, 2)
print(at_places(x, y), y)
