"""Operators of torch, torch.linalg, torch.special and torch.signal that are made of others, as functions, as methods and in
place, computed at once and in a graph, with the values that PyTorch prints."""
import torch
import torch.nn.functional as F


def rounded(v):
    return [rounded(item) for item in v] if isinstance(v, list) else 0.0 if isinstance(v, float) and abs(v) < 1e-6 else float(f'{v:.3g}') if isinstance(v, float) else v


def show(name, *tensors):
    for x in tensors:
        print(name, list(x.shape), str(x.dtype), rounded(x.tolist()))


def both(name, f, *inputs, graph=True):
    """At once, and in a graph, where that does not take long to compile."""
    flat = lambda found: found if isinstance(found, tuple) else (found,)
    show(name, *flat(f(*inputs)))
    if not graph:
        return
    for x, y in zip(flat(f(*inputs)), flat(torch.compile(f)(*inputs))):
        assert x.dtype == y.dtype and torch.allclose(x, y, rtol=1e-4, atol=1e-4, equal_nan=True), name


x = torch.tensor([[0.5, -1.25, 2.0], [3.0, 0.25, -0.5], [1.5, -0.125, 4.0]])
y, n = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([12, -18, 7, 0])
both('gcd', lambda a: (torch.gcd(a, a.flip(0)), torch.lcm(a, a.flip(0)), a.clone().gcd_(torch.tensor(8)), a.int().gcd(a.int() * 2)), n)
both('strided', lambda a: (a.as_strided((2, 2), (1, 2)), torch.as_strided(a, (2,), (4,), 1), torch.as_strided_copy(a, (3, 2), (1, 1)),
                           torch.as_strided_scatter(a, a[:2, :2], (2, 2), (3, 1))), x)
both('split', lambda a: torch.dsplit(a, 3) + a.dsplit((1,)) + a.unsafe_chunk(2) + a.unsafe_split(2, 2), x[None])
both('narrow', lambda a: (a.narrow_copy(0, 1, 2), torch.narrow(a, 1, torch.tensor(1), 2), a.narrow(1, torch.tensor(-2), 1)), x)
both('products', lambda a, b: (a[0].vdot(b), a[0].ger(b), b.__radd__(2), b.__rsub__(a), b.__rpow__(2.0), b.__rmul__(True)), x, y)
both('in place', lambda a: (a.clone().ldexp_(torch.tensor(2)), torch.sinc_(a.clone()), (a + 4).mvlgamma_(1), torch.zero_(a.clone()),
                            torch.negative_(a.clone()), torch.fill_(a.clone(), 3)), x)
both('angle', lambda a: (torch.angle(a), a.angle(), torch.resolve_neg(a)), y)
both('unravel', lambda a: torch.unravel_index(a, (2, 3, 4)), torch.tensor([5, 23, 0]))
both('masked', lambda a: torch._unsafe_masked_index(a, a > 0, [torch.full((3, 3), 5), torch.arange(3)], 7.0), x)

# -- factors
both('lu', lambda a: tuple(torch.linalg.lu(a)) + tuple(torch.linalg.lu_factor_ex(a)) + tuple(torch.lu_unpack(*torch.lu(a))), x)
both('lu', lambda a: tuple(torch.linalg.lu(a[:2])) + tuple(torch.linalg.lu(a.T[:, :2])), x)
both('lu_solve', lambda a, b: [torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, left=left, adjoint=adjoint)
                               for left in (True, False) for adjoint in (True, False)][0], x, x + 1, graph=False)
both('lu_solve', lambda a, b: (torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, left=False),
                               torch.lu_solve(b, *torch.linalg.lu_factor(a))), x, x + 1)
both('reflections', lambda a: tuple(torch.geqrf(a)) + (torch.linalg.householder_product(*torch.geqrf(a)),
                                                       torch.ormqr(*torch.geqrf(a), a, True, True)), x)
both('ex', lambda a: tuple(torch.linalg.inv_ex(a)) + tuple(torch.linalg.solve_ex(a, a + 1)) + (torch.linalg.cond(a, 1),), x)
both('matrix_exp', lambda a: (torch.matrix_exp(a), torch.linalg.matrix_exp(a * -20), torch.matrix_exp(a[None] * 0)), x, graph=False)
found = torch.linalg.lstsq(x[:, :2], x[:, 2:])
show('lstsq', found.solution, found.rank, found.singular_values)

# -- special functions
z = torch.tensor([0.0, 0.01, 0.5, 2.5, 7.0, 24.5, 40.0])
both('bessel', lambda a: tuple(getattr(torch.special, f)(a) for f in (
    'bessel_j0', 'bessel_j1', 'bessel_y0', 'bessel_y1', 'modified_bessel_i0', 'modified_bessel_k0', 'modified_bessel_k1',
    'scaled_modified_bessel_k0', 'scaled_modified_bessel_k1', 'spherical_bessel_j0'))[:6], z[:-1], graph=False)
both('bessel', lambda a: tuple(getattr(torch.special, f)(a) for f in (
    'modified_bessel_k1', 'scaled_modified_bessel_k0', 'scaled_modified_bessel_k1', 'spherical_bessel_j0', 'bessel_j1')), z)
both('normal', lambda a: (torch.special.erfcx(a), torch.special.erfcx(-a[:3]), torch.special.log_ndtr(-a),
                          torch.special.ndtri(torch.sigmoid(a[:4]))), z)
both('polygamma', lambda a: (torch.polygamma(0, a), torch.polygamma(1, a), a.polygamma(2), torch.special.polygamma(3, a - 2.25)), z, graph=False)

# -- windows
for f in ('hann', 'hamming', 'blackman', 'bartlett', 'cosine', 'nuttall', 'gaussian', 'exponential', 'kaiser'):
    window = getattr(torch.signal.windows, f)
    show(f, window(5), window(4, sym=False), window(1), window(0))
show('windows', torch.signal.windows.general_cosine(4, a=[0.5, 0.3, 0.2]), torch.signal.windows.general_hamming(4, alpha=0.6),
     torch.kaiser_window(4), torch.kaiser_window(4, False, 3.0))

# -- of torch.nn.functional, under torch's names too
both('pads', lambda a: tuple(F.pad(a, (2, -1, -1, 1), mode) for mode in ('circular', 'reflect', 'replicate')), x[None, None])
labels = torch.tensor([[2, 0, -1], [1, -1, 0], [-1, 0, 1]])
both('losses', lambda a: (F.multilabel_margin_loss(a, labels), F.multilabel_margin_loss(a, labels, reduction='none'),
                          F.linear_cross_entropy(a, a + 1, torch.tensor([0, 2, 1])), torch.margin_ranking_loss(a, a.T, a.sign(), 0.5, 2),
                          torch.hinge_embedding_loss(a, a.sign(), 1.0, 0)), x)
both('names', lambda a: (torch.embedding(a, torch.tensor([2, 0])), torch.prelu(a, torch.tensor([0.5])), torch.pairwise_distance(a, a.T),
                         torch.dropout(a, 0.5, False), torch.frobenius_norm(a, [0])), x)
both('native', lambda a: torch.native_layer_norm(a, (3,), None, None, 1e-5) + torch.native_group_norm(a[:, :, None], None, None, 3, 3, 1, 1, 1e-5)
     + torch.native_batch_norm(a, None, None, None, None, True, 0.1, 1e-5), x)
print(all(list(torch.empty_strided((2, 3), (3, 1)).shape) == size for size in ([2, 3],)), list(torch.broadcast_shapes((2, 1), 3)))

# -- random numbers
drawn = [torch.empty(50).cauchy_(), torch.empty(50).log_normal_(), torch.empty(50).geometric_(0.5), F.rrelu(torch.full((50,), -1.0), training=True)]
print(all(bool(d.isfinite().all()) for d in drawn), bool((drawn[2] >= 1).all()), bool((drawn[3].abs() < 0.34).all()))

# -- of rows of numbers: bins, parts of floats, places of what is not 0
both('histogram', lambda a: tuple(torch.histogram(a, 4)) + tuple(torch.histogram(a, 3, range=(0.0, 2.0), density=True))
     + tuple(torch.histogram(a, torch.tensor([-1.0, 0.0, 0.5, 3.0]), weight=a.abs())), x)
both('frexp', lambda a: tuple(torch.frexp(a)), torch.tensor([0.0, 1.0, -1.0, 0.3, 4.0, 1e-40, 3e38, 0.99999994, float('inf'), float('nan')]))
both('places', lambda a: (torch.nonzero_static(a > 0, size=3), (a > 0).nonzero_static(size=8, fill_value=-7)), x)
both('sorter', lambda a: torch.searchsorted(a, torch.tensor([1.0, 2.5]), sorter=torch.tensor([2, 0, 1])), y)
both('atleast', lambda a: torch.atleast_1d([a[0], a]) + torch.atleast_3d(a[0], a), y)
both('one for all', lambda a: (torch.tensordot(a, a[:1], 1), a[0, 0].unfold(0, 1, 1), a[0].clone().t_(), torch.matrix_power(a, -2)), x)
# Weights of integers are cut, and any that is not 0 is True.
both('weights', lambda a: (torch.addmm(a, a, a, beta=1.2, alpha=2.6), torch.addmv(a[0], a, a[1], beta=1.2, alpha=2.6), a.addcmul(a, a, value=2.5),
                           torch.rsub(a, 5, alpha=2), torch.addr(a > 2, a[0] > 0, a[1] > 2, beta=3, alpha=2).long()), torch.arange(4).reshape(2, 2))
both('bags', lambda a: (F.embedding_bag(torch.tensor([[2, 0], [1, 2]]), a, padding_idx=-1), F.embedding_bag(torch.tensor([[2, 0]]), a, padding_idx=2)), x)
m = torch.ones(1, 3, 2, requires_grad=True)
moments = torch.native_group_norm(m * torch.tensor([1.0, 2.0, 4.0]).reshape(3, 1), None, None, 1, 3, 2, 1, 1e-5)
(moments[1].sum() + moments[2].sum()).backward()
show('moments', m.grad, torch.native_group_norm(torch.zeros(0, 6, 1), None, None, 0, 6, 1, 2, 1e-5)[1])
both('tensors', lambda a: (torch.linalg.tensorinv(a.reshape(3, 3), 1), torch.linalg.tensorsolve(torch.eye(6).reshape(2, 3, 6) + 0.1, a[:2]),
                           torch.linalg.vander(a, N=2), torch.linalg.vander(a[0, 0], N=3)), x)
exact, rounded_exp = torch.matrix_exp(x.bfloat16().float()), torch.matrix_exp(x.bfloat16()).float()
assert (rounded_exp - exact).abs().max() < 0.005 * exact.abs().max()  # as of maths in f32; PyTorch 2.15 has nan on a CPU
drawn = F.alpha_dropout(torch.randn(40000), 0.3, True)
print(abs(drawn.mean().item()) < 0.05, abs(drawn.std().item() - 1) < 0.05, F.feature_alpha_dropout(x, 0.5, False).equal(x))

# -- what a mask keeps
import torch.masked
kept = torch.tensor([[True, False, True], [False, True, True], [False, False, False]])
for f in ('sum', 'prod', 'amax', 'amin', 'argmax', 'argmin', 'mean', 'median', 'std', 'var', 'logsumexp', 'cumsum', 'cumprod', 'softmax', 'log_softmax', 'softmin'):
    both(f, lambda a: getattr(torch.masked, f)(a, 1, mask=kept), x)
both('norms', lambda a: (torch.masked.norm(a, 2.0, 1, mask=kept), torch.masked.norm(a, float('-inf'), 1, mask=kept), torch.masked.sum(a, keepdim=True, mask=kept),
                         torch.masked.normalize(a, 1.0, 1, mask=kept)), x)

# -- of bool, and of rows that a mask hides whole
both('bool', lambda a: tuple(torch.cummax(a > 0, 1)) + tuple(torch.cummin(a > 0, 0)) + (torch.isclose(a > 0, a > 1), (a > 0).isclose(a > 0)), x)
hidden = torch.tensor([[0.5, float('-inf'), 1.0], [float('-inf')] * 3], requires_grad=True)
soft = torch.ops.aten._safe_softmax.default(hidden, 1)
(soft * torch.arange(3.0)).sum().backward()
show('hidden', soft.detach(), hidden.grad)
both('one number', lambda a: (F.prelu(a[0, 1], torch.tensor([0.25])),), x)
both('attention', lambda a: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(a[None, None], a[None, None], a[None, None], 0.0, True), x)
import operator
both('operator', lambda a: (operator.abs(a), operator.invert(a.long()), operator.xor(a > 0, a > 1), operator.lshift(a.long(), 2), operator.pos(a)), x)

# -- polynomials, of a degree and of degrees; incomplete gamma functions, of large arguments too, and with their gradients; zeta
degrees, t = torch.tensor([[0.0], [1.0], [4.9], [9.0], [-2.0]]), torch.linspace(-2.5, 2.5, 5)
for f in ('chebyshev_polynomial_t', 'chebyshev_polynomial_u', 'chebyshev_polynomial_v', 'chebyshev_polynomial_w', 'shifted_chebyshev_polynomial_t',
          'shifted_chebyshev_polynomial_u', 'shifted_chebyshev_polynomial_v', 'shifted_chebyshev_polynomial_w', 'hermite_polynomial_h',
          'hermite_polynomial_he', 'laguerre_polynomial_l', 'legendre_polynomial_p'):
    of = getattr(torch.special, f)
    both(f, lambda a: (of(a, degrees), of(a.double(), 3)), t, graph=False)
    both(f, lambda a: (of(a, 5), of(0.25, a.long())), t)
both('airy', lambda a: (torch.special.airy_ai(a),), torch.tensor([-30.0, -8.5, -7.0, -2.5, 0.0, 1.0, 2.0, 3.5, 20.0, 110.0]))
shapes, points = torch.tensor([[0.0], [0.01], [1.0], [7.5], [40.0], [1e5]]), torch.tensor([0.0, 1e-4, 0.3, 2.0, 8.0, 42.0, 100300.0, float('inf')])
both('gamma', lambda a, b: (torch.igamma(a, b), torch.special.gammaincc(a, b), a.clone().igamma_(b.mean()), a.igammac(b.amin() + 1)), shapes, points, graph=False)
both('gamma', lambda a, b: (torch.igamma(a, b),), shapes, points)
slopes = points[1:6].clone().requires_grad_()
(torch.igamma(torch.tensor(1.5), slopes) - 2 * slopes.igammac(torch.tensor(3.0)).detach() + torch.igammac(torch.tensor(40.0), slopes)).sum().backward()
show('gamma', slopes.grad)
both('zeta', lambda a: (torch.special.zeta(a, torch.tensor([[-2.3], [-1.0], [0.0], [0.5], [30.0]])), torch.special.zeta(2.0, a), torch.special.zeta(a, 3)),
     torch.tensor([0.5, 1.0, 1.5, 2.0, 7.0]))
memory = torch.empty(3, 3)
assert torch.linalg.eigh(x + x.mT, out=(torch.empty(3), memory))[1] is memory
both('chunks', lambda a: (torch._chunk_cat([a, a[:2]], 0, 2), torch._chunk_cat([a.long(), a.long()], -1, 5)), x)
both('nothing', lambda a: (a.gather(0, torch.empty(0, dtype=torch.uint8)),), x[0])
