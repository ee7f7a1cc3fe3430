"""torch.linalg: norms, what is made of products, and of elimination; Cholesky's factors and QR. Eigenvalues are torch._spectral's."""
from collections import namedtuple
import torch
from torch._tensor import cross, inner, matrix_power
from torch._spectral import eigh, eigvalsh, svd, svdvals, matrix_rank, pinv, matrix_sqrth, polar
from _warpsmith import op, refuse
_vector_norm = op('norm')


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    return torch.diagonal(A, offset, dim1, dim2)


def vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    return _vector_norm(x if dtype is None else x.to(dtype), ord, dim, keepdim)


def matrix_norm(A, ord='fro', dim=(-2, -1), keepdim=False, dtype=None):
    a, b = dim
    x = A if dtype is None else A.to(dtype)
    if ord == 'fro':
        return _vector_norm(x, 2, [a, b], keepdim)
    if ord in (1, -1, torch.inf, -torch.inf):
        summed, other = (a, b) if ord in (1, -1) else (b, a)
        sums = x.abs().sum(summed, True)
        most = sums.amax([a, b], True) if ord > 0 else sums.amin([a, b], True)
        return most if keepdim else most.sum([a, b])
    if ord not in (2, -2, 'nuc'):
        raise ValueError(f'linalg.matrix_norm: Order {ord} not supported.')
    s = svdvals(x.movedim((a, b), (-2, -1)))
    out = s.sum(-1) if ord == 'nuc' else s[..., 0] if ord == 2 else s[..., -1]
    return out.unsqueeze(min(a % x.ndim, b % x.ndim)).unsqueeze(max(a % x.ndim, b % x.ndim)) if keepdim else out


def norm(A, ord=None, dim=None, keepdim=False, dtype=None):
    if dim is None and ord is not None:
        dim = (-2, -1) if A.ndim == 2 else None
    if isinstance(dim, (list, tuple)) and len(dim) == 2 and ord is not None:
        return matrix_norm(A, ord, dim, keepdim, dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype)


def vecdot(x, y, dim=-1):
    return (x.conj() * y).sum(dim)


def multi_dot(tensors):
    out = tensors[0]
    for x in tensors[1:]:
        out = out @ x
    return out


def matmul(input, other):
    return input @ other


# -- systems of equations, by elimination


def _eliminated(A, B):
    """A's columns become those of the unit matrix, each row's in turn (Gauss and Jordan, largest pivots first); what B has
    become then, and A's determinant."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError('linalg: A must be batches of square matrices, but they are '
                           f'{A.shape[-2]} by {A.shape[-1]} matrices')
    n = A.shape[-1]
    batch = torch.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    x = torch.cat([A.expand(*batch, n, n), B.expand(*batch, n, B.shape[-1])], -1)
    rows, det = torch.arange(n, device=A.device), torch.ones(batch, dtype=A.dtype, device=A.device)
    for k in range(n):
        pivot = x[..., k].abs().masked_fill(rows < k, -1).argmax(-1, keepdim=True)
        order = torch.where(rows == k, pivot, torch.where(rows == pivot, k, rows))
        x = x.gather(-2, order.unsqueeze(-1).expand(x.shape))
        head = x[..., k:k + 1, k:k + 1]
        det = det * torch.where(pivot[..., 0] == k, 1, -1) * head[..., 0, 0]
        if not B.shape[-1]:  # of a matrix that is singular the determinant is 0, whatever the other pivots are
            head = torch.where(head == 0, 1, head)
        row = x[..., k:k + 1, :] / head
        x = torch.where((rows == k).unsqueeze(-1), row, x - x[..., k:k + 1] * row)
    return x[..., n:], det


def solve(A, B, *, left=True):
    if not left:
        return solve(A.mT, B.mT).mT
    if B.ndim == 1 or B.ndim == A.ndim - 1 and B.shape == A.shape[:-1]:
        return _eliminated(A, B.unsqueeze(-1))[0].squeeze(-1)
    return _eliminated(A, B)[0]


def inv(A):
    return _eliminated(A, torch.eye(A.shape[-1], dtype=A.dtype, device=A.device))[0]


def tensorinv(A, ind=2):
    front, back = A.shape[:ind], A.shape[ind:]
    return inv(A.reshape(front.numel(), back.numel())).reshape(*back, *front)


def tensorsolve(A, B, dims=None):
    if dims is not None:
        A = A.movedim([d % A.ndim for d in dims], list(range(A.ndim - len(dims), A.ndim)))
    out = A.shape[B.ndim:]
    return solve(A.reshape(B.numel(), out.numel()), B.reshape(-1)).reshape(out)


def vander(x, *, N=None):
    x = x if x.ndim else x.reshape(1)
    powers = torch.arange(x.shape[-1] if N is None else N)
    return x.unsqueeze(-1) ** powers


def det(A):
    return _eliminated(A, A[..., :0])[1]


def slogdet(A):
    value = det(A)
    return _SignAndLog(value.sign(), value.abs().log())


def inv_ex(A, *, check_errors=False):
    x, value = _eliminated(A, torch.eye(A.shape[-1], dtype=A.dtype, device=A.device))
    return _Inverse(x, (value == 0).to(torch.int32))


def solve_ex(A, B, *, left=True, check_errors=False):
    return _Solved(solve(A, B, left=left), (det(A) == 0).to(torch.int32))


def cond(A, p=None):
    if p is None or p in (2, -2):
        s = svdvals(A)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


_Inverse, _Solved = namedtuple('inv_ex', 'inverse info'), namedtuple('solve_ex', 'result info')
_LeastSquares = namedtuple('_LeastSquares', 'solution residuals rank singular_values')
_SignAndLog = namedtuple('_SignAndLog', 'sign logabsdet')


def lstsq(A, B, rcond=None, *, driver=None):
    """Of matrices of full rank; of many solutions the shortest. In f64, as products of A with itself lose half the digits."""
    a, b = (A.cdouble(), B.cdouble()) if A.is_complex() else (A.double(), B.double())
    wide = A.shape[-2] < A.shape[-1]
    x = a.mH @ solve(a @ a.mH, b) if wide else solve(a.mH @ a, a.mH @ b)
    rank = torch.full(A.shape[:-2], min(A.shape[-2:]), dtype=torch.int64)
    s = svdvals(A.detach()) if driver in ('gelss', 'gelsd') else A.real.new_zeros(0)
    if A.shape[-2] > A.shape[-1]:
        left = a @ x - b
        left = (left.abs() if A.is_complex() else left).square().sum(-2).to(A.real.dtype)
    else:
        left = A.real.new_zeros(0)
    return _LeastSquares(x.to(A.dtype), left, torch.zeros(0, dtype=torch.int64) if driver == 'gels' else rank, s)


_Triangular = namedtuple('triangular_solve', 'solution cloned_coefficient')


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    if not left:
        return solve_triangular(A.mT, B.mT, upper=not upper, unitriangular=unitriangular).mT
    part = A.triu(1 if unitriangular else 0) if upper else A.tril(-1 if unitriangular else 0)
    return solve(part + torch.eye(A.shape[-1], dtype=A.dtype, device=A.device) if unitriangular else part, B)


# -- factors, column by column


def cholesky(A, *, upper=False):
    """Each column takes its products from the rest. Nan where A is not positive definite, where PyTorch raises an error."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError('linalg.cholesky: A must be batches of square matrices, but they are '
                           f'{A.shape[-2]} by {A.shape[-1]} matrices')
    n, x, columns = A.shape[-1], (A + A.mH) / 2, []
    rows = torch.arange(n, device=A.device)
    for k in range(n):
        column = torch.where(rows >= k, x[..., k] / x[..., k:k + 1, k].sqrt(), 0)
        x = x - column.unsqueeze(-1) * column.conj().unsqueeze(-2)
        columns.append(column)
    lower = torch.stack(columns, -1) if n else A.clone()
    return lower.mH if upper else lower


def cholesky_ex(A, *, upper=False, check_errors=False):
    return _Factor(cholesky(A, upper=upper), torch.zeros(A.shape[:-2], dtype=torch.int32))


def qr(A, mode='reduced'):
    """Householder's reflections, as LAPACK's, so that signs are its, too."""
    m, n = A.shape[-2:]
    if A.is_complex():
        x, tau = _geqrf(A)
        k = m if mode == 'complete' else min(m, n)
        eye = torch.eye(m, k, dtype=A.dtype, device=A.device).expand(*A.shape[:-2], m, k)
        q = _reflected(x, tau, eye, range(tau.shape[-1] - 1, -1, -1)) if mode != 'r' else A.new_zeros(0)
        return _Factors(q, x[..., :k, :].triu())
    r, q = A, torch.eye(m, dtype=A.dtype, device=A.device).expand(*A.shape[:-2], m, m)
    rows = torch.arange(m, device=A.device)
    for k in range(min(m - 1, n)):
        column = torch.where(rows >= k, r[..., k], 0)
        head = r[..., k, k].unsqueeze(-1)
        rest = torch.where(rows > k, column, 0)
        plain = (rest == 0).all(-1, True)
        norm = torch.where(plain, 1, (column * column).sum(-1, True)).sqrt()
        v = torch.where(rows == k, column + torch.where(head < 0, -norm, norm), column)
        size = torch.where(plain, 1, (v * v).sum(-1, True))
        v, scale = v.unsqueeze(-1), torch.where(plain, 0, 2 / size).unsqueeze(-1)
        r = r - scale * v @ (v.mT @ r)
        q = q - (q @ v) @ (scale * v.mT)
    k = m if mode == 'complete' else min(m, n)
    r = r[..., :k, :].triu()
    return _Factors(q[..., :, :k] if mode != 'r' else A.new_zeros(0), r)


_Factors, _Factor = namedtuple('qr', 'Q R'), namedtuple('cholesky_ex', 'L info')


# -- factors of LU, and reflections as LAPACK keeps them


def _swapped(pivots, m):
    """Of rows that were exchanged with those at pivots, which count from 1, one after the other: which came where."""
    rows = torch.arange(m, device=pivots.device)
    order = rows.expand(*pivots.shape[:-1], m)
    for k in range(pivots.shape[-1]):
        place = (pivots[..., k:k + 1] - 1).long()
        order = order.gather(-1, torch.where(rows == k, place, torch.where(rows == place, k, rows)))
    return order


def _permutation(order, dtype):
    rows = torch.arange(order.shape[-1], device=order.device)
    return (rows.unsqueeze(-1) == order.unsqueeze(-2)).to(dtype)


def lu_factor(A, *, pivot=True):
    """L below the diagonal and U from it on, in one matrix; a pivot of 0 divides nothing."""
    m, n = A.shape[-2:]
    x, pivots = A, []
    rows, columns = torch.arange(m, device=A.device), torch.arange(n, device=A.device)
    for k in range(min(m, n)):
        size = x[..., k].real.abs() + x[..., k].imag.abs() if A.is_complex() else x[..., k].abs()  # as LAPACK compares them
        place = size.masked_fill(rows < k, -1).argmax(-1, keepdim=True) if pivot else x[..., k, :1].long() * 0 + k
        order = torch.where(rows == k, place, torch.where(rows == place, k, rows))
        x = x.gather(-2, order.unsqueeze(-1).expand(x.shape))
        head = x[..., k:k + 1, k]
        factor = torch.where(rows > k, x[..., k] / torch.where(head == 0, 1, head), 0).unsqueeze(-1)
        left = x - factor * torch.where(columns > k, x[..., k:k + 1, :], 0)
        x = torch.where((rows > k).unsqueeze(-1) & (columns == k), factor, left)
        pivots.append(place + 1)
    pivots = torch.cat(pivots, -1) if pivots else torch.zeros(*A.shape[:-2], 0)
    return _Factored(x, pivots.to(torch.int32))


def lu_factor_ex(A, *, pivot=True, check_errors=False):
    x, pivots = lu_factor(A, pivot=pivot)
    zero = x.diagonal(0, -2, -1) == 0
    info = torch.where(zero.any(-1), zero.to(torch.int32).argmax(-1) + 1, 0)
    return _FactoredEx(x, pivots, info.to(torch.int32))


def _lu(A, pivot=True, get_infos=False):
    found = lu_factor_ex(A, pivot=pivot)
    return found if get_infos else found[:2]


def _lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    m, n = LU_data.shape[-2:]
    k, none = min(m, n), LU_data.new_zeros(0)
    eye = torch.eye(m, k, dtype=LU_data.dtype, device=LU_data.device)
    low, up = (LU_data[..., :k].tril(-1) + eye, LU_data[..., :k, :].triu()) if unpack_data else (none, none)
    return _Unpacked(_permutation(_swapped(LU_pivots, m), LU_data.dtype) if unpack_pivots else none, low, up)


def lu(A, *, pivot=True):
    x, pivots = lu_factor(A, pivot=pivot)
    found = _lu_unpack(x, pivots)
    return found if pivot else _Unpacked(A.new_zeros(0), found.L, found.U)


def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    if not left:
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    P = _permutation(_swapped(pivots, LU.shape[-1]), LU.dtype)
    if adjoint:
        y = solve_triangular(LU.mH, B, upper=False)
        return P @ solve_triangular(LU.mH, y, upper=True, unitriangular=True)
    y = solve_triangular(LU, P.mT @ B, upper=False, unitriangular=True)
    return solve_triangular(LU, y, upper=True)


def _lu_solve(b, LU_data, LU_pivots):
    return lu_solve(LU_data, LU_pivots, b)


def _geqrf(A):
    """The conjugate of each reflection is what is applied; of complex numbers a last row of one element has one, too."""
    m, n = A.shape[-2:]
    x, scales = A, []
    rows, columns = torch.arange(m, device=A.device), torch.arange(n, device=A.device)
    for k in range(min(m, n)):
        column, head = torch.where(rows >= k, x[..., k], 0), x[..., k, k].unsqueeze(-1)
        plain = (torch.where(rows > k, column, 0) == 0).all(-1, True)
        plain = plain & (head.imag == 0) if A.is_complex() else plain
        squares = column.real.square() + column.imag.square() if A.is_complex() else column * column
        norm = torch.where(plain, 1, squares.sum(-1, True)).sqrt()
        end = torch.where(head.real < 0, norm, -norm)
        scale = torch.where(plain, 0, (end - head) / end)
        v = torch.where(rows == k, 1, torch.where(rows > k, column / torch.where(plain, 1, head - end), 0)).unsqueeze(-1)
        rest = x - scale.conj().unsqueeze(-1) * v * (v.mH @ x)
        own = torch.where(rows == k, torch.where(plain, head, end), torch.where(rows > k, v.squeeze(-1), x[..., k]))
        x = torch.where(columns == k, own.unsqueeze(-1), torch.where(columns > k, rest, x))
        scales.append(scale)
    return _Reflections(x, torch.cat(scales, -1) if scales else A.new_zeros(*A.shape[:-2], 0))


def _reflected(A, tau, x, order):
    """x behind the reflections, whose vectors are A's columns below its diagonal."""
    rows = torch.arange(A.shape[-2], device=A.device)
    for k in order:
        v = torch.where(rows == k, 1, torch.where(rows > k, A[..., k], 0)).unsqueeze(-1)
        x = x - tau[..., k].unsqueeze(-1).unsqueeze(-1) * v * (v.mH @ x)
    return x


def householder_product(A, tau):
    eye = torch.eye(*A.shape[-2:], dtype=A.dtype, device=A.device).expand(A.shape)
    return _reflected(A, tau, eye, range(tau.shape[-1] - 1, -1, -1))


def _ormqr(input, tau, other, left=True, transpose=False):
    k = tau.shape[-1]
    if not left:
        return _ormqr(input, tau, other.mH, True, not transpose).mH
    return _reflected(input, tau.conj() if transpose else tau, other, range(k) if transpose else range(k - 1, -1, -1))


_TERMS, _SQUARINGS = 18, 16


def matrix_exp(A):
    """The power series of A / 2^s, squared s times. Nan where sums of columns are beyond 2^15."""
    if A.dtype in (torch.bfloat16, torch.float16):
        return matrix_exp(A.float()).to(A.dtype)
    norm = A.detach().abs().sum(-2, True).amax(-1, True)
    halvings = torch.where(norm > 0, norm * 2, 1).log2().ceil().clamp(0, _SQUARINGS)
    x = A * (-halvings).exp2()
    eye = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    out = eye + x / _TERMS
    for k in range(_TERMS - 1, 0, -1):
        out = eye + x @ out / k
    for k in range(_SQUARINGS):
        out = torch.where(halvings > k, out @ out, out)
    return torch.where(norm <= 2 ** (_SQUARINGS - 1), out, torch.nan)


_Factored, _FactoredEx = namedtuple('lu_factor', 'LU pivots'), namedtuple('lu_factor_ex', 'LU pivots info')
_Unpacked, _Reflections = namedtuple('lu', 'P L U'), namedtuple('geqrf', 'a tau')
