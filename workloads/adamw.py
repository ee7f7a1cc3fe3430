"""One step of AdamW, in place: p, m and v (n) are updated from the gradient g. Reads 4*n, writes 3*n elements."""
import torch

n = 16777216
lr = 0.001
beta1 = 0.9
beta2 = 0.999
eps = 1e-08
decay = 0.01
step = 10


def adamw(p, g, m, v):
    p.mul_(1 - lr * decay)
    m.mul_(beta1).add_(g, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    scale = (1 - beta2 ** step) ** 0.5
    p.addcdiv_(m, v.sqrt() / scale + eps, value=-lr / (1 - beta1 ** step))
    return p


def get_inputs():
    return [torch.randn(n), torch.randn(n), torch.randn(n), torch.rand(n)]
