import sys
import torch
import torch.nn.functional as F

state, rows = {}, []


def f(x, y, n=2, flag=True):
    y[0]=0
    d=torch.addcmul(x,x,x,)
    c= (d * 2)
    return c, y


g = torch.compile(f, dynamic=True, backend=BACKEND)

for k in range(3):
    torch.manual_seed(k)
    x = torch.randn(5, 1).requires_grad_()
    y = torch.randn(5, 1) if k < 2 else x * 2
    try:
        out = g(x, y, 2 + k // 2, k != 1)
        if out[0].dtype == torch.float32 and out[0].requires_grad:
            out[0].sum().backward()
            print('grad', x.grad is not None and x.grad.flatten().tolist())
        for v in (*out, x, y):
            print(list(v.shape), str(v.dtype), v.detach().double().flatten().tolist()[:64])
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as e:
        print('left', type(e).__name__)
