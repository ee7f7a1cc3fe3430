"""torch.set_default_dtype: the type of what has no floating tensor to take one from, compiled too."""
import torch
import torch.nn as nn
import torch.nn.functional as F

whole, short = torch.arange(4), torch.tensor([1, 2], dtype=torch.int8)


def kinds():
    made = {
        'ones': torch.ones(1), 'zeros': torch.zeros(1), 'empty': torch.empty(1), 'eye': torch.eye(1), 'rand': torch.rand(1),
        'randn': torch.randn(1), 'full': torch.full((1,), 0.5), 'full_int': torch.full((1,), 1), 'arange': torch.arange(2),
        'arange_float': torch.arange(0.0, 1.0, 0.5), 'linspace': torch.linspace(0, 1, 2), 'logspace': torch.logspace(0, 1, 2),
        'tensor': torch.tensor([0.1]), 'tensor_int': torch.tensor([1]), 'nothing': torch.tensor([]), 'normal': torch.normal(0.0, 1.0, (1,)),
        'given': torch.ones(1, dtype=torch.float32), 'none': torch.zeros(1, dtype=None), 'randint': torch.randint(0, 3, (1,)),
        'quotient': whole / 3, 'by_number': whole * 0.1, 'bytes': short / 7, 'power': whole ** 0.5, 'sin': torch.sin(whole), 'exp': short.exp(),
        'where': torch.where(whole > 1, 0.1, 1), 'where_int': torch.where(whole > 1, 0.1, whole), 'floor': whole // 2, 'whole': whole * 2,
        'sum': whole.sum(), 'float': whole.float(), 'of_f32': torch.ones(1, dtype=torch.float32) / 3, 'like': torch.ones_like(whole),
        'mask': F.one_hot(whole) * 0.5, 'scalar': torch.scalar_tensor(1.0), 'new': whole.new_zeros(1), 'sigmoid': torch.sigmoid(whole)}
    return {name: x.dtype for name, x in made.items()}, (whole / 3).sum() + (whole * 0.1).sum() + torch.tensor([0.1]).sum()


compiled = torch.compile(kinds)
for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float32):
    torch.set_default_dtype(dtype)
    print(torch.get_default_dtype(), {name: str(kind)[6:] for name, kind in kinds()[0].items()})
    print(kinds()[1].item(), kinds()[1])
    assert kinds()[0] == compiled()[0] and torch.allclose(kinds()[1], compiled()[1], rtol=1e-2)
    print(torch.finfo().bits, torch.Tensor([1, 2]).dtype, torch.Tensor(2, 3).dtype, torch.tensor([True]), torch.ones(2, dtype=torch.float64),
          torch.ones(2, dtype=torch.float32))
    m = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Dropout(0.1), nn.GRU(3, 2)).eval()
    print({str(p.dtype) for p in m.parameters()}, m(torch.ones(2, 1, 2))[0].dtype)
    w = nn.Parameter(torch.zeros(2))
    ((w * whole[:2] - 0.5) ** 2).mean().backward()
    print(w.grad)
try:
    torch.set_default_dtype(torch.int64)
except TypeError as error:
    print(error)
torch.set_default_tensor_type('torch.DoubleTensor')
print(torch.ones(1).dtype)
torch.set_default_tensor_type(torch.HalfTensor)
print(torch.ones(1).dtype)
torch.set_default_tensor_type(torch.FloatTensor)
print(torch.ones(1).dtype)
