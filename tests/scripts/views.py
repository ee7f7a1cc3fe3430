"""Which results are views of the same memory, in and outside of compiled functions."""
import torch
def fresh(): return torch.arange(24.).reshape(2, 3, 4)
fs = [
    lambda x: x[0], lambda x: x[:, 1:], lambda x: x[..., ::2], lambda x: x.view(-1), lambda x: x.reshape(6, 4),
    lambda x: x.flatten(), lambda x: x.transpose(0, 1), lambda x: x.permute(2, 0, 1),
    lambda x: x.t() if x.dim() == 2 else x.mT, lambda x: x.unsqueeze(0), lambda x: x[None].squeeze(0),
    lambda x: x.chunk(2, 1)[1], lambda x: x.split(2, -1)[0], lambda x: x.unbind(0)[1],
    lambda x: x.narrow(1, 1, 2), lambda x: x.select(2, 3), lambda x: x.movedim(0, 2), lambda x: x.swapaxes(0, 2),
    lambda x: x.unflatten(2, (2, 2)), lambda x: x.view_as(x), lambda x: x.tensor_split(2, 2)[1],
    lambda x: x.diagonal(0, 1, 2), lambda x: torch.diagonal(x[0]), lambda x: x.detach(), lambda x: x.data,
    lambda x: x.ravel(), lambda x: x.contiguous(), lambda x: x.to(torch.float32), lambda x: x.float(),
    lambda x: x.cpu(), lambda x: x.hsplit([1])[0], lambda x: x[0, 1],
    lambda x: x.T if False else x.swapdims(1, 2), lambda x: torch.atleast_3d(x), lambda x: x.expand(2, 3, 4),
    lambda x: x.squeeze(), lambda x: x.real if False else x[...], lambda x: next(iter(x)),
    lambda x: x.requires_grad_(False), lambda x: x.view(torch.float32) if False else x[:]
]
copies = [
    lambda x: x[[0]], lambda x: x[x > 3], lambda x: x.clone(), lambda x: x + 0,
    lambda x: x.transpose(0, 1).reshape(-1), lambda x: x.permute(1, 0, 2).flatten(), lambda x: x.repeat(1, 1, 1),
    lambda x: x.transpose(0, 1).contiguous(), lambda x: x.double(), lambda x: torch.cat([x]),
    lambda x: x.index_select(0, torch.tensor([0])), lambda x: x.flip(0), lambda x: x.roll(1), lambda x: x.tril()
]
for k, f in enumerate(fs + copies):
    x = fresh()
    f(x).zero_()
    y = fresh()
    f(y).add_(100)
    print(k, x.sum().item(), y.sum().item())
for k, f in enumerate(fs):
    @torch.compile
    def g(x):
        f(x).mul_(2)
        return x.sum() * 1
    torch._dynamo.reset()
    x = fresh()
    print(k, g(x).item(), x.sum().item())
x = torch.zeros(2, 3)
v = x[0]
v[1] = 5; x[0, 2] = 7
print(v, x)
x += 1
print(v)
x = x + 1
print(v)
x = torch.eye(3); x.diagonal().fill_(2); print(x, x.diagonal(1), x.diagonal(-1).shape, 2 in x, 7 in x)
