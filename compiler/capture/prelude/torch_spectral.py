"""Eigenvalues of symmetric matrices and singular values, by Jacobi's rotations in f64.

    w, V = eigh(A)        V.mT @ A @ V is diagonal
    U, s, Vh = svd(A)     rotations make the columns of A orthogonal; s are their lengths

Each step rotates n / 2 pairs of rows at once, those of the upper half each with its like of the lower half, so that their
product becomes 0. Then all rows but the first move on by one place, as players of a tournament: after n - 1 steps, a sweep,
each has met each, and is where it was. Squares of what is not 0 yet fall quadratically in the end, so a fixed number
of sweeps does for all matrices. What is returned has the gradients that PyTorch's formulas say: the steps have none."""
from collections import namedtuple
import torch
from _warpsmith import refuse

_Eigen, _Singular, _SVD = namedtuple('eigh', 'eigenvalues eigenvectors'), namedtuple('svd', 'U S Vh'), namedtuple('svd', 'U S V')
_Polar = namedtuple('polar', 'U H')
_MOST = 128  # rows or columns: each sweep has a step for each of them


def _halves(x):
    h = x.shape[-2] // 2
    return x[..., :h, :], x[..., h:, :]


def _turned(x, c, s):
    """Pairs of rows, rotated and moved on."""
    a, b = _halves(x)
    a, b = c * a - s * b, s * a + c * b
    h = a.shape[-2]
    if h == 1:
        return torch.cat([a, b], -2)
    return torch.cat([a[..., :1, :], b[..., :1, :], a[..., 1:h - 1, :], b[..., 1:, :], a[..., h - 1:, :]], -2)


def _rotation(a, b, product):
    """Cosine and sine that make the product of two rows 0, of squares a and b: the smaller of two angles."""
    zero = product == 0
    ratio = (b - a) / (2 * torch.where(zero, 1, product))
    slope = torch.where(ratio < 0, -1, 1) / (ratio.abs() + (1 + ratio * ratio).sqrt())
    slope = torch.where(zero, 0, slope)
    c = 1 / (1 + slope * slope).sqrt()
    return c.unsqueeze(-1), (c * slope).unsqueeze(-1)


def _steps(n):
    return (8 + n.bit_length() // 2) * (n - 1)


def _checked(name, A, square):
    if A.ndim < 2 or square and A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f'linalg.{name}: A must be batches of {"square " * square}matrices')
    if not A.is_floating_point() or A.dtype in (torch.bfloat16, torch.float16):
        raise RuntimeError(f'linalg.{name}: Expected a floating point tensor of 32 bits or more as input')
    if min(A.shape[-2:]) > _MOST:
        refuse(f'torch.linalg.{name} of matrices of more than {_MOST} rows and columns is not supported')


def _eigen(A):
    """Of the lower triangle, without gradients: values in ascending order, and vectors as rows."""
    n = A.shape[-1]
    x = A.detach().double()
    x = x.tril() + x.tril(-1).mT
    even = n + n % 2
    x = torch.nn.functional.pad(x, (0, even - n, 0, even - n))
    rows = torch.eye(even, dtype=x.dtype, device=x.device).expand(x.shape)
    for _ in range(_steps(even)):
        h = even // 2
        squares, products = x.diagonal(0, -2, -1), x[..., :h, h:].diagonal(0, -2, -1)
        c, s = _rotation(squares[..., :h], squares[..., h:], products)
        x, rows = _turned(_turned(x, c, s).mT, c, s), _turned(rows, c, s)
    values = x.diagonal(0, -2, -1)[..., :n]
    order = values.argsort(-1)
    return values.gather(-1, order), rows[..., :n, :n].gather(-2, order.unsqueeze(-1).expand(*order.shape, n))


def _apart(squares):
    """1 / (x[j] - x[i]); 0 where they are equal."""
    apart = squares.unsqueeze(-2) - squares.unsqueeze(-1)
    return torch.where(apart == 0, 0, 1 / torch.where(apart == 0, 1, apart))


def _change(A, symmetric=False):
    """0, with A's gradient."""
    x = A.double()
    x = (x + x.mT) / 2 if symmetric else x
    return x - x.detach()


def eigh(A, UPLO='L'):
    _checked('eigh', A, True)
    if A.numel() == 0:
        return _Eigen(A.new_zeros(A.shape[:-1]), A.clone())
    values, rows = _eigen(A.mT if UPLO in ('U', 'u') else A)
    V = rows.mT
    change = rows @ _change(A, True) @ V
    return _Eigen((values + change.diagonal(0, -2, -1)).to(A.dtype), (V + V @ (_apart(values) * change)).to(A.dtype))


def _doubled(A):
    """[[a, -b], [b, a]] of a + ib: a real matrix whose products are those of A, with each eigenvalue and each singular value twice."""
    return torch.cat([torch.cat([A.real, -A.imag], -1), torch.cat([A.imag, A.real], -1)], -2)


def _halved(x):
    m, n = x.shape[-2] // 2, x.shape[-1] // 2
    return torch.complex(x[..., :m, :n], x[..., m:, :n])


def _hermitian(A):
    """Of the lower triangle."""
    low = A.tril(-1)
    return low + low.mH + torch.diag_embed(A.real.diagonal(0, -2, -1))


def eigvalsh(A, UPLO='L'):
    if A.is_complex():
        return eigh(_doubled(_hermitian(A.mH if UPLO in ('U', 'u') else A))).eigenvalues[..., ::2]
    return eigh(A, UPLO).eigenvalues


def _rotated(A):
    """Of m rows and n <= m columns, without gradients: lengths in descending order, and rows of U.mT and of V.mT. A row of
    U.mT is 0 where the length is."""
    m, n = A.shape[-2:]
    even = n + n % 2
    x = torch.cat([A.mT, torch.eye(n, dtype=A.dtype, device=A.device).expand(*A.shape[:-2], n, n)], -1)
    x = torch.nn.functional.pad(x, (0, 0, 0, even - n))
    for _ in range(_steps(even)):
        a, b = _halves(x[..., :m])
        x = _turned(x, *_rotation((a * a).sum(-1), (b * b).sum(-1), (a * b).sum(-1)))
    lengths = (x[..., :n, :m] * x[..., :n, :m]).sum(-1).sqrt()
    order = lengths.argsort(-1, descending=True)
    x = x[..., :n, :].gather(-2, order.unsqueeze(-1).expand(*order.shape, m + n))
    s = lengths.gather(-1, order)
    none = (s <= s[..., :1] * (2.0 ** -52 * m)).unsqueeze(-1)
    return torch.where(none, 0, x[..., :m] / torch.where(none, 1, s.unsqueeze(-1))), s, x[..., m:]


def _singular(A, whole):
    """U, s and V, in f64, without gradients; whole: U is square. Columns for lengths of 0 are any that are orthogonal to
    the others."""
    if A.shape[-2] < A.shape[-1]:
        rows, s, others = _rotated(A.mT)
        return others.mT, s, _completed(rows.mT, whole)
    rows, s, others = _rotated(A)
    return _completed(rows.mT, whole), s, others.mT


def _completed(U, whole):
    m, n = U.shape[-2:]
    Q = torch.linalg.qr(U, 'complete' if whole else 'reduced').Q
    first = torch.where((U == 0).all(-2, True), Q[..., :n], U)
    return torch.cat([first, Q[..., n:]], -1) if whole and m > n else first


def svd(A, full_matrices=True, *, driver=None):
    _checked('svd', A, False)
    m, n = A.shape[-2:]
    k = min(m, n)
    if A.numel() == 0:
        eye = lambda rows, columns: torch.eye(rows, columns, dtype=A.dtype, device=A.device).expand(*A.shape[:-2], rows, columns)
        return _Singular(eye(m, m if full_matrices else k), A.new_zeros(*A.shape[:-2], k), eye(n if full_matrices else k, n))
    U, s, V = _singular(A.detach().double(), full_matrices)
    u, v, change = U[..., :k], V[..., :k], _change(A)
    P = u.mT @ change @ v
    apart, Ps, sP = _apart(s * s), P * s.unsqueeze(-2), P * s.unsqueeze(-1)
    inverse = torch.where(s == 0, 0, 1 / torch.where(s == 0, 1, s)).unsqueeze(-2)
    du, dv = u @ (apart * (Ps + Ps.mT)), v @ (apart * (sP + sP.mT))
    if m > k:
        du = du + (change @ v - u @ P) * inverse
    if n > k:
        dv = dv + (change.mT @ u - v @ P.mT) * inverse
    u, v = u + du, v + dv
    if full_matrices:
        u, v = torch.cat([u, U[..., k:]], -1), torch.cat([v, V[..., k:]], -1)
    return _Singular(u.to(A.dtype), (s + P.diagonal(0, -2, -1)).to(A.dtype), v.mT.to(A.dtype))


def svdvals(A, *, driver=None):
    if A.is_complex():
        return svd(_doubled(A), False).S[..., ::2]
    return svd(A, False).S


def svd_of_torch(input, some=True, compute_uv=True):
    """torch.svd: V in place of Vh, and zeros for U and V where these are not asked for."""
    if not compute_uv:
        m, n = input.shape[-2:]
        zeros = lambda size: input.new_zeros(*input.shape[:-2], size, size)
        return _SVD(zeros(m), svdvals(input), zeros(n))
    U, S, Vh = svd(input, not some)
    return _SVD(U, S, Vh.mT)


def _sizes(A, hermitian):
    """Singular values, in descending order where that counts."""
    return eigvalsh(A).abs() if hermitian else svdvals(A)


def _tolerance(A, most, atol, rtol):
    """What counts as 0: as PyTorch's default, the type's epsilon times the larger side, of the largest one."""
    if rtol is None:
        given = atol is not None and (isinstance(atol, torch.Tensor) or atol > 0)
        unit = torch.finfo(A.real.dtype).eps * max(A.shape[-2:])
        rtol = unit if not given else torch.where(atol > 0, 0.0, unit) if isinstance(atol, torch.Tensor) else 0.0
    rtol = rtol.unsqueeze(-1) if isinstance(rtol, torch.Tensor) else rtol
    atol = atol.unsqueeze(-1) if isinstance(atol, torch.Tensor) else atol
    bound = most * rtol
    return bound if atol is None else torch.maximum(bound, torch.zeros_like(bound) + atol)


def matrix_rank(A, tol=None, *, atol=None, rtol=None, hermitian=False):
    if tol is not None:
        atol, rtol = tol, 0.0
    if A.numel() == 0:
        return torch.zeros(A.shape[:-2], dtype=torch.int64, device=A.device)
    s = _sizes(A.detach(), hermitian)
    return (s > _tolerance(A, s.amax(-1, True), atol, rtol)).sum(-1)


def pinv(A, rcond=None, *, atol=None, rtol=None, hermitian=False):
    rtol = rcond if rtol is None else rtol
    if A.numel() == 0:
        return A.new_zeros(*A.shape[:-2], A.shape[-1], A.shape[-2])
    if A.is_complex():
        rtol = torch.finfo(A.real.dtype).eps * max(A.shape[-2:]) if rtol is None and atol is None else rtol
        return _halved(pinv(_doubled(_hermitian(A) if hermitian else A), atol=atol, rtol=rtol))
    x = A.detach()
    if hermitian:
        values, V = eigh(x)
        s, U, V = values.abs().double(), V.double() * torch.where(values < 0, -1, 1).unsqueeze(-2), V.double()
    else:
        _checked('pinv', A, False)
        U, s, V = _singular(x.double(), False)
    kept = s > _tolerance(A, s.amax(-1, True), atol, rtol)
    P = (V * torch.where(kept, 1 / torch.where(kept, s, 1), 0).unsqueeze(-2)) @ U.mT
    D, x = _change(A), x.double()
    more = (D.mT - P @ x @ D.mT) @ P.mT @ P + P @ P.mT @ (D.mT - D.mT @ x @ P) - P @ D @ P
    return (P + more).to(A.dtype)


def matrix_sqrth(A):
    """Of X with X X = A: X changes by what makes dX X + X dX = dA, which eigenvalues that are equal do not disturb."""
    if A.is_complex():
        return _halved(matrix_sqrth(_doubled(_hermitian(A))))
    _checked('matrix_sqrth', A, True)
    if A.numel() == 0:
        return A.clone()
    values, rows = _eigen(A)
    roots, V = values.sqrt(), rows.mT
    change = rows @ _change(A, True) @ V / (roots.unsqueeze(-1) + roots.unsqueeze(-2))
    return (V @ (torch.diag_embed(roots) + change) @ rows).to(A.dtype)


def polar(A):
    """U = W V.mT and H = V S V.mT of A = W S V.mT; what a change of A does to them, equal singular values do not disturb."""
    if A.is_complex():
        U, H = polar(_doubled(A))
        return _Polar(_halved(U), _halved(H))
    _checked('polar', A, False)
    if A.numel() == 0:
        W, s, Vh = svd(A, False)
        return _Polar(W @ Vh, (Vh.mT * s.unsqueeze(-2)) @ Vh)
    W, s, V = _singular(A.detach().double(), False)
    change = _change(A) @ V
    P, sums, row = W.mT @ change, s.unsqueeze(-1) + s.unsqueeze(-2), s.unsqueeze(-2)
    U = W + W @ ((P - P.mT) / sums)
    if A.shape[-2] > A.shape[-1]:
        U = U + (change - W @ P) / row
    H = torch.diag_embed(s) + (P * s.unsqueeze(-1) + P.mT * row) / sums
    return _Polar((U @ V.mT).to(A.dtype), (V @ H @ V.mT).to(A.dtype))
