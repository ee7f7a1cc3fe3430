"""Rotations by complex numbers, as models of language write them."""
import torch, torch.nn as nn

def precompute(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    return torch.polar(torch.ones(end, dim // 2), torch.outer(torch.arange(end).float(), freqs))

def rotate(xq, xk, freqs):
    q = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    k = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    freqs = freqs.view(*[d if i in (1, q.ndim - 1) else 1 for i, d in enumerate(q.shape)])
    return torch.view_as_real(q * freqs).flatten(3).type_as(xq), torch.view_as_real(k * freqs).flatten(3).type_as(xk)

class Attention(nn.Module):
    def __init__(self, dim, heads, length):
        super().__init__()
        self.heads, self.wq, self.wk = heads, nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.register_buffer('freqs_cis', precompute(dim // heads, length), persistent=False)
        with torch.no_grad():
            for i, p in enumerate(self.parameters()):
                p.copy_((torch.arange(float(p.numel())) * (1 + i)).sin().view(p.shape) / 3)
    def forward(self, x, start=0):
        b, t, _ = x.shape
        q, k = [w(x).view(b, t, self.heads, -1) for w in (self.wq, self.wk)]
        q, k = rotate(q, k, self.freqs_cis[start:start + t])
        return torch.einsum('bqhd,bkhd->bhqk', q, k).softmax(-1)

model = Attention(16, 2, 12)
x = torch.linspace(-1, 1, 2 * 5 * 16).view(2, 5, 16).requires_grad_()
for f in (model, torch.compile(model)):
    for start in (0, 3):
        y = f(x, start)
        g, = torch.autograd.grad(y.square().sum(), x)
        print([f'{v:.3f}' for v in y[1, 1, 4].tolist() + [g.abs().sum().item()]])

z = torch.complex(torch.tensor([3., -1., 0.]), torch.tensor([4., 2., -2.]))
w = torch.polar(torch.tensor([1., 2., 3.]), torch.tensor([0.5, -1., 2.]))
def show(*values):
    print([[f'{a:.4f}' for a in torch.view_as_real(v.resolve_conj()).flatten().tolist()] for v in values])
show(z * w, z / w, z + w, z - w, -z, 2 * z, 1 + z, 1 - z, z / 2, z + 1, z - torch.ones(3), torch.ones(3) * z)
show(z.conj(), torch.conj(z), z[1:], z.unsqueeze(0), z.expand(2, 3), z.sum())
print([f'{v:.4f}' for v in z.abs().tolist() + z.angle().tolist() + torch.real(z).tolist() + torch.imag(z).tolist()])
print(z.shape, z.ndim, z.numel(), len(z), torch.is_complex(z), z.is_complex(), torch.is_complex(x), x.is_complex())

# Conjugates where PyTorch takes them, and what has no imaginary part.
a = torch.complex(torch.tensor([[1., -2., 0.], [3., .5, -1.]]), torch.tensor([[2., 0., 0.], [-1., 4., 1.]]))
def conjugates(a):
    return (torch.vdot(a[0], a[1]), torch.dot(a[0], a[1]), torch.cov(a) + torch.complex(torch.tensor(0.), torch.tensor(1.)), torch.linalg.vecdot(a, a.flip(0)), torch.complex(a.real[0], a.imag[:, :1]))
show(*conjugates(a))
f = lambda r: tuple([torch.view_as_real(torch.resolve_conj(v)) for v in conjugates(torch.view_as_complex(r))])
assert all(x.allclose(y, atol=1e-5) for x, y in zip(f(torch.view_as_real(a).clone()), torch.compile(f)(torch.view_as_real(a).clone())))
print(torch.isreal(a).tolist())
show(torch.nn.functional.pad(a, (1, 0), 'constant', 1.5), torch.nn.functional.pad(a, (1, 0)))
frames = torch.complex(torch.arange(24.).reshape(6, 4).sin(), torch.arange(24.).reshape(6, 4).cos())
print([f'{v:.4f}' for v in torch.istft(frames, 6, hop_length=2, onesided=False, window=torch.ones(6)).tolist()])
r = torch.view_as_real(a).clone().requires_grad_()
c = torch.view_as_complex(r)
torch.linalg.norm(c - c.detach()[:1]).backward()
print([f'{v:.4f}' for v in r.grad.flatten().tolist()])
b, k = a.clone(), torch.complex(torch.tensor([[[1., 2.]]]), torch.tensor([[[0., -1.]]]))
b.mul_(z).add_(w).sub_(1)
show(b, a.add(z), a.mul(w), torch.nn.functional.conv1d(a[:, None], k), torch.gather(a, 1, torch.tensor([[2, 0], [1, 1]])), torch.tanh(a), torch.addmm(a[:, :2], a, a.t(), beta=2))
print((a == a.conj()).tolist(), [f'{v:.4f}' for v in a.var(1).tolist() + [a.std().item(), a.norm().item()]], [v.shape for v in a])
for v in (torch.arange(3), x[0, 0, :2].detach(), a[0]):
    for wide in (v.cfloat(), v.cdouble(), v.to(torch.complex128), v.to('cpu', torch.complex64)):
        print(wide.dtype, torch.view_as_real(wide).dtype, [round(p, 4) for p in torch.view_as_real(wide).flatten().tolist()])

# -- as they are printed, and made of Python's
z = torch.tensor([1 + 2j, 3 - 4j])
print(z, z.real, z.imag, z.conj(), z * z, z.sum(), z.tolist(), z[0].item(), z.dtype)
print(torch.polar(torch.ones(2), torch.tensor([0.0, 1.0])), torch.tensor(2j), torch.tensor([[1j]], dtype=torch.complex128))
print(torch.complex(torch.arange(24.0).reshape(2, 12) / 7, torch.linspace(-1e4, 1, 24).reshape(2, 12)))
print(torch.zeros(40, 40, dtype=torch.complex64) * 1j, torch.zeros(0, dtype=torch.complex64), torch.tensor([1.5, 2.0], dtype=torch.cfloat))
print(f'{z}', [z[1:]], (0.1 + 0.25j) * 3, repr(1e20 - 0.5j), torch.nn.Parameter(z).requires_grad)

# -- quotients and their gradients, by all names; conjugates in memory of their own
for divide in (torch.div, torch.true_divide, lambda a, b: a.divide(b), lambda a, b: a / b, lambda a, b: torch.div(2.0, b) * a):
    p, q = torch.tensor([[-8.5, -1.75], [1.0, 2.0]], requires_grad=True), torch.tensor([[-4.25, -2.5], [0.5, -1.0]], requires_grad=True)
    quotient = torch.view_as_real(torch.resolve_conj(divide(torch.view_as_complex(p), torch.view_as_complex(q))))
    (quotient * torch.tensor([1.0, 0.3])).sum().backward()
    print([[round(v, 4) for v in part.flatten().tolist()] for part in (quotient, p.grad, q.grad)])
w = torch.tensor([1 + 2j, 3 - 4j])
print(w.conj_physical(), w.clone().conj_physical_(), torch.multiply(w, w), torch.subtract(w, 1j), torch.rand_like(w).dtype, w.clone().normal_().shape)

# -- factors take conjugates, as do the reflections that LAPACK keeps
a = torch.view_as_complex(torch.arange(24.0).square().sin().reshape(4, 3, 2))
h = a.mH @ a + torch.eye(3)
four = lambda t: [f'{v:.3f}'.replace('-0.000', '0.000') for v in (torch.view_as_real(t) if t.is_complex() else t).flatten().tolist()]
print(four(torch.linalg.cholesky(h)), four(torch.linalg.cholesky(h, upper=True)), four(torch.cholesky_inverse(torch.linalg.cholesky(h))))
print(four(torch.cholesky_solve(a.mH, torch.linalg.cholesky(h))), four(torch.linalg.lstsq(a, a[:, :1] + 1).solution))
q, r = torch.linalg.qr(a)
x, tau = torch.geqrf(a)
print(four(q), four(r), four(torch.linalg.householder_product(x, tau) - q), four(torch.ormqr(x, tau, a, transpose=True)[:3] - r))
lu, pivots = torch.linalg.lu_factor(h)
print(four(h.mH @ torch.linalg.lu_solve(lu, pivots, a.mH, adjoint=True) - a.mH), four(torch.linalg.lu_solve(lu, pivots, a, left=False) @ h - a))
print(four(torch.linalg.svdvals(a)), four(torch.linalg.eigvalsh(h)), torch.linalg.matrix_rank(a).item(), four(torch.linalg.pinv(a)))
print(four(torch.linalg.norm(a, 'nuc')), four(torch.linalg.cond(h)))

# -- powers, inverse functions, and what is made like another
z = torch.tensor([0j, 0.5 - 0.25j, -2 + 1j, 1.5 + 0j])
print(four(z ** torch.tensor([2 + 0j, 1j, 0.5 + 0j, 0j])), four(torch.float_power(z, z + 1)), torch.float_power(z, 2).dtype, four(torch.logaddexp(z, z * 2j)))
for f in (torch.asin, torch.acos, torch.atan, torch.asinh, torch.acosh, torch.atanh):
    print(four(f(z)))
for t in (torch.ones_like(z), torch.zeros_like(z, dtype=torch.float64), z.new_ones(2, dtype=torch.complex128), z.new_zeros((2,), dtype=torch.float32),
          torch.full_like(z, 2j), z.new_full((1,), 3.0), z.to(torch.zeros(1)), torch.ones_like(torch.zeros(2), dtype=torch.complex64), z.prod(), torch.prod(z[:0])):
    print(t.dtype, t.shape, four(t))
w = z.clone()
print(w.unsqueeze_(0).shape, w.t_().shape, w.squeeze_(1).shape, torch.nonzero(z).tolist(), four(a.mT.__rmatmul__(a)), four(torch.logit(torch.tensor([0.2, 0.9]), 0.6)))
z, kept = torch.tensor([1 + 2j, 3 - 4j, 2j]), torch.tensor([True, False, True])
print(four(torch.masked.cumsum(z, 0, mask=kept)), four(torch.masked.cumprod(z, 0, mask=kept)), four(torch.masked.mean(z, 0, mask=kept)), torch.atleast_2d(z).shape, torch.atleast_3d(z)[0, 1].shape, four(torch.block_diag(z[:1], z[1:])))
# Angles of sums so far go on behind pi, from those of the larger part.
z = torch.complex(torch.tensor([[0.3, -2.0, 1.5, 1.4, -1, 2.2, 0.1], [2.0, 1.9, -0.2, 0.4, 1.1, -3, 2.5]]),
                  torch.tensor([[4.0, -7, 2.5, 9, -3, 1, 8], [-5, 6.0, 3.3, -8, 2, 7, -9]]))
print(torch.view_as_real(torch.logcumsumexp(z, 1)), torch.view_as_real(z.logcumsumexp(0))[1, :3], torch.view_as_real(torch.logcumsumexp(z[0, 0], 0)))
