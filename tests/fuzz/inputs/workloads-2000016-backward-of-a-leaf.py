import torch
class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g, g
a, seed = torch.ones(2, requires_grad=True), torch.ones(2)
a.backward(seed)
print(a.grad)
