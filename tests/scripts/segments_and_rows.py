# Segments of rows, pools of whole numbers, rows of embeddings that are shortened where they are; gradients by how often.
import torch
import torch.nn.functional as F


def show(*ts):
    print(*[[round(v, 4) + 0.0 for v in t.detach().double().flatten().tolist()] for t in ts])


# segments of rows
x = (torch.arange(12.) * 0.7).sin().reshape(6, 2).requires_grad_()
for how in ('sum', 'mean', 'max', 'min', 'prod'):
    for kw in ({'lengths': torch.tensor([2, 0, 3, 1])}, {'offsets': torch.tensor([0, 1, 4, 6]), 'initial': 0.5}):
        r = torch.segment_reduce(x, how, axis=0, unsafe=True, **kw)
        show(r, torch.autograd.grad((r.nan_to_num(0, 0, 0) * torch.arange(1., r.numel() + 1).reshape(r.shape)).sum(), x)[0])
y = torch.arange(12.).reshape(2, 6)
show(torch._segment_reduce(y, 'sum', lengths=torch.tensor([[1, 5], [2, 4]]), axis=1), torch._segment_reduce(y, 'max', lengths=torch.tensor([[1, 5], [2, 4]]), axis=1, initial=3))

# pools of whole numbers
n = torch.arange(-30, 34).reshape(1, 8, 8)
for kw in ({}, {'stride': 2, 'padding': 1}, {'stride': 2, 'padding': 1, 'ceil_mode': True}, {'padding': 1, 'count_include_pad': False}, {'divisor_override': 3}):
    show(F.avg_pool2d(n, 3, **kw))
show(F.avg_pool1d(n, 3), F.avg_pool3d(n.reshape(1, 4, 4, 4), 2))

# rows that are looked up: shortened where they are, their gradients by how often
w = torch.nn.Parameter((torch.arange(20.) * 0.3).cos().reshape(5, 4) * 2)
i = torch.tensor([[0, 1, 1], [3, 1, 0]])
r = F.embedding(i, w, 0, 1.5, 2.0, True)
r.square().sum().backward()
show(r, w, w.grad)
m = torch.nn.Embedding.from_pretrained(torch.arange(8.).reshape(4, 2), freeze=False, max_norm=1.0, norm_type=1.0)
show(m(torch.tensor([1, 3])), m.weight)
b = torch.nn.EmbeddingBag(4, 2, max_norm=2.0, scale_grad_by_freq=True, mode='sum', _weight=torch.arange(8.).reshape(4, 2))
r = b(torch.tensor([0, 1, 1, 3]), torch.tensor([0, 2]))
r.square().sum().backward()
show(r, b.weight, b.weight.grad)
