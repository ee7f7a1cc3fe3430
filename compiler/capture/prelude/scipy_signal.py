"""scipy.signal: windows, which are torch.signal.windows' in f64; systems of states in steps of time."""
import torch
from numpy import _floats, _out, _t
from torch.signal import windows as _windows

_names = {'hann': 'hann', 'hanning': 'hann', 'hamming': 'hamming', 'blackman': 'blackman', 'bartlett': 'bartlett',
          'nuttall': 'nuttall', 'cosine': 'cosine', 'gaussian': 'gaussian', 'kaiser': 'kaiser',
          'exponential': 'exponential', 'general_cosine': 'general_cosine', 'general_hamming': 'general_hamming'}
_parameters = {'gaussian': 'std', 'kaiser': 'beta', 'general_hamming': 'alpha', 'general_cosine': 'a'}


def get_window(window, Nx, fftbins=True):
    name, *given = (window,) if isinstance(window, str) else ('kaiser', window) if isinstance(window, float) else window
    if name in ('boxcar', 'ones', 'rect', 'rectangular'):
        return _out(torch.ones(Nx, dtype=torch.float64))
    if name not in _names or len(given) > 1 or bool(given) != (name in _parameters):
        raise ValueError(f'unknown window type {window!r}, or without its parameter')
    named = {_parameters[name]: given[0]} if given else {}
    return _out(getattr(_windows, _names[name])(Nx, sym=not fftbins, dtype=torch.float64, **named))


def cosine(M, sym=True):
    return get_window('cosine', M, not sym)


def cont2discrete(system, dt, method='zoh', alpha=None):
    """(A, B, C, D) of x' = A x + B u, y = C x + D u for steps of dt, as scipy has them, and dt."""
    if len(system) != 4:
        raise NotImplementedError('cont2discrete takes a system as (A, B, C, D)')
    a, b, c, d = [torch.atleast_2d(_floats(_t(part)).double()) for part in system]
    n, weights = a.shape[0], {'bilinear': 0.5, 'tustin': 0.5, 'euler': 0.0, 'forward_diff': 0.0, 'backward_diff': 1.0, 'gbt': alpha}
    if method == 'zoh':
        rows = torch.cat([torch.cat([a, b], 1) * dt, torch.zeros(b.shape[1], n + b.shape[1], dtype=a.dtype)])
        moved = torch.linalg.matrix_exp(rows)[:n]
        return _out(moved[:, :n]), _out(moved[:, n:]), _out(c), _out(d), dt
    if weights.get(method) is None:
        raise ValueError(f"Unknown transformation method '{method}', or 'gbt' without alpha")
    weight, one = weights[method], torch.eye(n, dtype=a.dtype)
    ahead = one - weight * dt * a
    moved, pushed = torch.linalg.solve(ahead, one + (1 - weight) * dt * a), torch.linalg.solve(ahead, dt * b)
    return _out(moved), _out(pushed), _out(torch.linalg.solve(ahead.mT, c.mT).mT), _out(d + weight * c @ pushed), dt
