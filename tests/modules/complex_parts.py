"""Methods of tensors of complex numbers, each by what it does to both parts: adjoints, masks, sums at indices, products along
an axis, statistics; parameters, one a tensor; pivots of LU are compared as LAPACK compares them, |re| + |im|."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3, dtype=torch.cfloat))
        self.register_parameter('rows', nn.Parameter(torch.rand(3, 1, dtype=torch.complex64), requires_grad=False))
        names = [(name, p.numel(), p.is_complex(), p.requires_grad) for name, p in self.named_parameters()]
        assert names == [('weight', 9, True, True), ('rows', 3, True, False)], names
        z = torch.view_as_complex(torch.tensor([[[3.0, 3.0], [1.0, 0.0]], [[5.0, 0.0], [2.0, 1.0]]]))
        assert torch.linalg.lu_factor(z)[1].tolist()[0] == 1  # 3 + 3i comes before 5, though |5| is larger
        v = torch.view_as_complex(torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 10.0]]))
        assert abs(v.var(True).item() - 20) < 1e-5 and abs(torch.var(v, unbiased=False).item() - 40 / 3) < 1e-5
        assert v.isnan().any().item() is False and v.logical_not().sum().item() == 0 and v.to(torch.float32).tolist() == [1, 3, 5]

    def forward(self, x, y):
        a, b = torch.view_as_complex(x), torch.view_as_complex(y)
        order, mask = torch.tensor([2, 0, 1]), a.real > 0
        made = [a.mH @ b, a.masked_fill(mask, 1.5), a.where(mask, b), a.index_add(0, order, b, alpha=2), a.prod(1), a.cumprod(0),
                a.addcmul(b, b, value=0.5), torch.lerp(a, b, 0.25), a[0].expand_as(torch.ones_like(a)), a.sgn(), 2 ** a, a.new_ones(2),
                torch.scatter(a, 0, order.expand(3, 3), 2.5), torch.diff(a, dim=1), torch.outer(a[0], b[0]),
                torch.addmv(a[0], a, b[1], beta=0.5), torch.permute_copy(a, (1, 0)), torch.logsumexp(a, 1, keepdim=True), a.clone().fill_(3 + 1j) * b]
        made.append(torch.einsum('ij,jk->ik', a, self.weight) * self.rows)
        return [torch.view_as_real(torch.resolve_conj(p)) for p in made] + [b.std(0), torch.logsumexp(b, 1).real]


def get_inputs():
    return [torch.randn(3, 3, 2), torch.randn(3, 3, 2)]
