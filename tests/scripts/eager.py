"""Tensors outside compiled functions: views share memory, updates in place reach them, errors are exceptions."""
import torch

x = torch.arange(12.0).reshape(3, 4)
row = x[1]
row += 100
x[0, 1:3] = -1
x[:, 3] = torch.tensor([7.0, 8.0, 9.0])
print(x)
t = x.t()
t.mul_(2)
assert x[1, 0] == 208 and t.stride() == (1, 4) and not t.is_contiguous()
v = x.view(4, 3)
v.zero_()
assert x.sum() == 0
c = x.clone()
c.fill_(3)
assert x.sum() == 0 and c.sum().item() == 36
assert c.tolist() == [[3.0] * 4] * 3
for wrong in (lambda: x @ x, lambda: x.view(5), lambda: x[5], lambda: x + torch.ones(5), lambda: x.sum(7)):
    try:
        wrong()
        assert False, 'no error'
    except (RuntimeError, IndexError):
        pass
try:
    if x:
        pass
    assert False
except RuntimeError as e:
    assert 'ambiguous' in str(e)
n = torch.tensor([[1, 2], [3, 4]])
assert n.dtype == torch.int64 and n.shape == (2, 2) and n[1, 0].item() == 3
assert torch.tensor(True).dtype == torch.bool and torch.tensor([1.5]).dtype == torch.float32
torch.manual_seed(3)
a = torch.randn(4)
torch.manual_seed(3)
assert torch.equal(a, torch.randn(4)) and not torch.equal(a, torch.randn(4))
