"""Parts of an outside tensor that get values with gradients: the tensor has them, too, behind a break as well.
A buffer that is updated on the way is what it was when gradients begin."""
import torch

@torch.compile
def h(a, x):
    a[1] = x * 3

@torch.compile
def h2(a, x):
    a.mul_(2).add_(x)

@torch.compile
def h3(x):
    a = torch.zeros(3, 2)
    print('break')
    a[1] = x * 3
    return a

@torch.compile
def h4(x):
    a = torch.zeros(3, 2)
    print('break')
    a[1] = x * 3
    print('break')
    a[2] = x * x
    return a

@torch.compile
def h5(x):
    a = torch.zeros(3, 2)
    for i in range(3):
        if (x > 100 * i).all():
            a[i] = x
    return a

@torch.compile
def h6(a, x):
    a.mul_(2).add_(x.detach())
    return a * x

@torch.compile
def recurrent(x, w):
    states = torch.zeros(5, 2, 3)
    s = torch.zeros(2, 3)
    for i, xt in enumerate((x * w).unbind(0)):
        s = xt * 2 if torch.all(s == 0.0) else torch.tanh(xt) + s * 0.5
        states[i + 1] = s
    return states

for fn in (h, h2):
    x = torch.ones(2, requires_grad=True)
    a = torch.zeros(3, 2)
    fn(a, x)
    a.sum().backward()
    print(a.requires_grad, x.grad)
for fn in (h3, h4, h5):
    x = torch.ones(2, requires_grad=True)
    a = fn(x)
    a.sum().backward()
    print(a, x.grad)
x = torch.ones(2, requires_grad=True)
a = torch.ones(3, 2)
h6(a, x).sum().backward()
print(a, x.grad)
x = (torch.arange(24.0) * 0.7).sin().reshape(4, 2, 3).requires_grad_()
w = (torch.arange(3.0) + 1).requires_grad_()
o = recurrent(x, w)
(o * torch.arange(o.numel()).reshape(o.shape).cos()).sum().backward()
print(w.grad, x.grad)
with torch.no_grad():
    a = torch.zeros(3, 2)
    h(a, w[:2])
    print(a)
