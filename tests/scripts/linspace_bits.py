"""linspace as PyTorch has it, to the last bit; a product of named axes beside what it stands for; a class of tensors that is not used."""
import torch
from einops import parse_shape, rearrange
from einops.layers.torch import EinMix

for start, end, steps in ((0, 1, 256), (-1, 1, 100), (0.1, 7.3, 77), (1e-4, 0.02, 1000), (-1, 1, 7), (5, -5, 11)):
    x = torch.linspace(start, end, steps).double() * 2**40
    print(int(x.sum()), int(x[steps // 3]), int(x[steps // 2]), int(x[-2]))
print(torch.linspace(0.1, 1, 9, dtype=torch.bfloat16).tolist(), torch.linspace(0, 10, 7, dtype=torch.int64).tolist())

torch.manual_seed(0)
x = torch.randn(3, 5, 6)
heads = EinMix('t b (head c) -> t b (head d)', weight_shape='head c d', bias_shape='head d', head=2, c=3, d=4)
parts = rearrange(x, 't b (head c) -> t b head c', head=2)
print(torch.allclose(heads(x), (torch.einsum('tbhc,hcd->tbhd', parts, heads.weight) + heads.bias).flatten(2), atol=1e-6))
mixed = EinMix('t b c -> t k c', weight_shape='b k', bias_shape='k', b=5, k=2)
print(mixed.bias.shape, torch.allclose(mixed(x), mixed.weight.T @ x + mixed.bias, atol=1e-6), parse_shape(x, 't _ c'))


class Meta(torch.Tensor):
    pass


print(issubclass(Meta, torch.Tensor), isinstance(x, Meta), torch.jit.isinstance(x, torch.Tensor))
torch._assert_async(torch.tensor(True))
try:
    torch._assert_async(torch.tensor(False), 'none')
except RuntimeError as error:
    print(error)
