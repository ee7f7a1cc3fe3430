"""scipy.signal: windows, which are torch.signal.windows' in f64."""
import torch
from numpy import _out
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
