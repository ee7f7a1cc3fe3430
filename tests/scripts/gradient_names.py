"""What .grad_fn is called: PyTorch's kernel, and which of its overloads."""
import torch
import torch.nn as nn
import torch.nn.functional as F

x = (torch.arange(6.).reshape(2, 3) / 10 + .1).requires_grad_()
y = (torch.arange(6.).reshape(2, 3) / 7 + .2).requires_grad_()
w, b, v = torch.ones(4, 3, requires_grad=True), torch.ones(4, requires_grad=True), torch.ones(3, requires_grad=True)
labels = torch.tensor([0, 1])
for r in (x + y, 1 - x, 1 / x, x ** 2, x ** y, 2 ** x, x.square(), x.sum(), x.sum(1), x.mean(), x.mean((0, 1)), x.prod(1), x.max(),
          x.max(1)[0], x.norm(), x.clamp(0, 1), x.clamp(min=y), x.remainder(2), x.remainder(y), x.lerp(y, .5), x.lerp(y, y), x.log1p()):
    print(r.grad_fn.name(), end=' ')
print()
for r in (x @ w.T, x @ v, v @ v, x[None] @ w.T[None], F.linear(x, w, b), F.linear(x, w), F.linear(x[None], w, b), F.linear(v, w, b),
          F.layer_norm(x, (3,)), F.group_norm(x, 1), nn.RMSNorm(3)(x), F.relu6(x), F.selu(x), F.logsigmoid(x), F.pad(x, (1, 1)),
          F.l1_loss(x, y), F.mse_loss(x, y), F.cross_entropy(x, labels), F.cross_entropy(x, y.softmax(1)), F.normalize(x)):
    print(r.grad_fn.name(), end=' ')
print()
for r in (x.double(), x.to(torch.float64), x.flatten(), x.view_as(y), x.expand_as(y), x.movedim(0, 1), x.narrow(0, 0, 1),
          x[None].squeeze(0), x.scatter(1, labels[:, None], 0.), x.t().contiguous()):
    print(r.grad_fn.name(), end=' ')
print(x.contiguous() is x)
image = torch.ones(1, 2, 3, 4, requires_grad=True)
for r in (F.linear(v, w), F.linear(x[None], w), x[0] @ w.T, x[None] @ v, x @ w.T[None], v @ w.T[None],
          F.l1_loss(x, y, reduction='sum'), F.kl_div(x, y), F.kl_div(x, y, reduction='batchmean'),
          F.kl_div(x, y, reduction='sum'), F.mse_loss(x, y, reduction='sum'),
          F.cross_entropy(image, torch.zeros(1, 3, 4, dtype=torch.int64)), x.sum((0, 1)), x.mean(0), x.prod(),
          x.clamp(max=1), x.scatter(1, labels[:, None], y), 2 - x, 2 / x, x - 2, x / 2, x.pow(y), x.max(y), x.min(),
          x.min(1)[0], x.std(), x.var(0), x.abs(), x.sign(), x.softmax(0), x.log_softmax(0), x.cumsum(0), x.t(),
          x.unsqueeze(0), x.repeat(2, 1), x.expand(2, 2, 3), torch.cat([x, y]), torch.stack([x, y]), x[0], x[:, 1:],
          x[labels], x[x > 0], x.index_select(0, labels), x.gather(1, labels[:, None]), torch.where(x > 0, x, y),
          x.masked_fill(x > 0, 0), x.tril(), x.roll(1), x.flip(0), F.relu(x), F.gelu(x), F.silu(x), F.elu(x),
          F.leaky_relu(x), F.softplus(x), F.hardtanh(x), F.dropout(x, 0.0), F.conv2d(image, torch.ones(1, 2, 1, 1)),
          F.batch_norm(image, None, None, training=True)):
    print(r.grad_fn.name() if r.grad_fn else None, end=' ')
print()
print(x.mean(1), F.linear(x, w, b), F.one_hot(labels), F.one_hot(labels + 1).dtype)
