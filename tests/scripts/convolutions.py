# Convolutions in eager code: layers as they print, paddings of all kinds, gradients, and in a training loop.
import torch
import torch.nn as nn
import torch.nn.functional as F

print(nn.Conv2d(3, 8, 3, padding=1)); print(nn.Conv1d(4, 8, 5, stride=2, dilation=2, groups=2, bias=False, padding_mode='circular', padding='valid'))
print(nn.ConvTranspose2d(4, 6, 3, 2, 1, 1)); print(nn.Conv3d(1,2,(1,2,3)))
x = torch.arange(36.).reshape(1,1,6,6)/36; w = torch.arange(9.).reshape(1,1,3,3)/9
x.requires_grad_(); w.requires_grad_()
y = F.conv2d(x, w, padding='same', dilation=2)
print(y)
y.pow(2).sum().backward(); print(x.grad.sum(), w.grad)
print(F.conv1d(torch.ones(1,1,5), torch.ones(1,1,4), padding='same'))
print(torch.conv2d(torch.ones(1,1,3,3), torch.ones(2,1,2,2), torch.ones(2)))
for mode in ('reflect','replicate','circular'):
    c = nn.Conv2d(1,1,(3,5),padding=(1,2),padding_mode=mode); c.weight.data.fill_(0.5); c.bias.data.fill_(1)
    print(c(x.detach()).sum())
    c = nn.Conv1d(1,1,4,padding='same',padding_mode=mode); c.weight.data.copy_(torch.arange(4.).view(1,1,4)); c.bias.data.fill_(1)
    print(c(torch.arange(7.).view(1,1,7)))
t = nn.ConvTranspose1d(1,1,3,stride=2,padding=1); t.weight.data.fill_(1.); t.bias.data.zero_()
print(t(torch.arange(4.).view(1,1,4), output_size=[8]))
t = nn.ConvTranspose2d(2,4,3,groups=2); print(t(torch.randn(2,5,5)).shape, t.weight.shape)
for f in (lambda: nn.Conv2d(3, 8, 3, padding='same', stride=2), lambda: nn.Conv2d(3, 8, 3, groups=2),
          lambda: F.conv1d(torch.ones(1, 3, 8), torch.ones(8, 3, 3), padding='foo'),
          lambda: F.conv_transpose2d(torch.ones(2, 5, 5), torch.ones(2, 2, 3, 3), output_padding=1),
          lambda: t(torch.ones(2, 5, 5), output_size=[99, 99])):
    try:
        f()
    except (ValueError, RuntimeError) as e:
        print(type(e).__name__)

m = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU(), nn.AvgPool2d(2), nn.Conv2d(8, 4, 3, stride=2),
                  nn.Flatten())
for p in m.parameters():
    p.data.copy_(torch.linspace(-1, 1, p.numel()).view(p.shape) / 8)
f = torch.compile(m, dynamic=True)
for n, s in ((2, 12), (3, 16)):
    x = torch.linspace(-1, 1, n * 3 * s * s).view(n, 3, s, s)
    y = f(x)
    print(y.shape, f'{y.sum():.4f}')
opt = torch.optim.SGD(m.parameters(), lr=0.01)
for i in range(3):
    opt.zero_grad()
    loss = F.mse_loss(f(x), torch.ones_like(y))
    loss.backward()
    opt.step()
    print(f'{loss:.4f}')
