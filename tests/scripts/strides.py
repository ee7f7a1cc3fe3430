"""In which order results lie in memory: as their operands do. What shares memory with what follows from it."""
import torch
import torch.nn.functional as F

x = torch.arange(6.0).reshape(2, 3)
y = x.t() + 1
z = y.flatten()  # a copy
z.add_(10)
print(y.stride(), y.is_contiguous(), y.tolist(), z.tolist())
print(y.clone().stride(), torch.zeros_like(y).stride(), y.contiguous().stride())
print(y.clone(memory_format=torch.contiguous_format).stride())
y[0] = 7
y.add_(x.t())
print(y.stride(), y.tolist(), y.t().flatten().tolist())
y.copy_(torch.ones(3, 2))
print(y.stride(), y.tolist())

a = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
for t in (a * 2, a.double(), a > 3, torch.where(a > 3, a, 0.0), a.flip(0), a[::2] + 0, a + torch.ones(3), torch.ones(3) + a,
          a.relu(), F.gelu(a), F.elu(a), a.masked_fill(a > 3, 0.0), a.softmax(-1), a.sum(0), a.expand(2, 4, 2, 3) + 1,
          a[:, :1] + a[:, :, :1], torch.ones(4, 2, 3) + a, a + torch.ones(4, 2, 3), a @ torch.ones(3, 2), a[:, :, ::2].clone()):
    print(t.stride(), round(t.sum().item(), 3))

p = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
q = p.t() * 2
(q.reshape(-1) * torch.arange(6.0)).sum().backward()
print(q.stride(), p.grad.tolist())


@torch.compile
def compiled(x):
    y = x.t() + 1
    z = y.flatten()
    z.add_(10)
    y.mul_(2)
    y.view(3, 2)[0] = 5
    return y, z, y.is_contiguous(), y.stride(), y.relu().transpose(0, 1)


y, z, dense, stride, turned = compiled(x)
print(y.tolist(), z.tolist(), dense, stride, y.stride(), z.stride(), turned.stride())
z = y.flatten()
z.add_(1)
print(y.tolist(), z.tolist())


@torch.compile
def updated(x, y):
    x.add_(y.t())
    z = x.reshape(-1)
    z.mul_(2)
    return z, x * 1


x, w = torch.zeros(2, 3).t(), torch.ones(2, 3)
z, v = updated(x, w)
print(x.tolist(), z.tolist(), v.stride())

s = torch.ones(2, 3).requires_grad_()
q = s.squeeze()  # a tensor of its own
print(q is s, q.is_leaf, x.type_as(s).requires_grad, x.view_as(s.t()).requires_grad, w.sort(0)[0].stride())
with torch.no_grad():
    s.transpose_(0, 1)
print(s.shape, s.stride(), s.requires_grad)
v = torch.ones(3)
v.squeeze().unsqueeze_(0)
print(v.shape)
