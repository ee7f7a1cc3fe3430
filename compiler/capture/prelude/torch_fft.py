"""torch.fft: transforms as products with the matrices of their roots, each of n * n numbers: right, not fast."""
import math

import torch
from _warpsmith import refuse
from torch._complex import Complex


def _parts(x):
    return (x.real, x.imag) if isinstance(x, Complex) else (x, None)


def _sized(x, n, dim):
    """x with n elements along dim: cut off, or zeros behind."""
    if n is None or n == x.shape[dim]:
        return x
    if n < x.shape[dim]:
        return x.narrow(dim, 0, n)
    more = list(x.shape)
    more[dim] = n - x.shape[dim]
    return torch.cat([x, x.new_zeros(more)], dim)


def _scale(n, norm, inverse):
    if norm not in (None, 'backward', 'forward', 'ortho'):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == 'ortho':
        return 1 / math.sqrt(n)
    return 1 / n if (norm == 'forward') != inverse else 1.0


def _roots(n, m, like, sign):
    """cos and sin of 2 pi j k / n, for j below n and k below m. j * k is reduced by n first, to keep the angle exact, and
    what is 0 is 0: an optimizer makes a step of its own size of a gradient that is only nearly 0."""
    turns = (torch.arange(n).unsqueeze(1) * torch.arange(m)) % n
    angle = turns.to(like.dtype) * (sign * 2 * math.pi / n)
    return torch.where(turns * 4 % (2 * n) == n, 0, angle.cos()), torch.where(turns * 2 % n == 0, 0, angle.sin())


def _along(x, matrix, dim):
    return (x.movedim(dim, -1) @ matrix).movedim(-1, dim)


def _transform(x, n, dim, norm, sign, kept=None):
    """The first `kept` of the n elements of the transform along dim."""
    real, imag = _parts(x)
    real = real if real.is_floating_point() else real.float()
    real, imag = _sized(real, n, dim), None if imag is None else _sized(imag, n, dim)
    n = real.shape[dim]
    cos, sin = [part * _scale(n, norm, sign > 0) for part in _roots(n, kept or n, real, sign)]
    if imag is None:
        return Complex(_along(real, cos, dim), _along(real, sin, dim))
    return Complex(_along(real, cos, dim) - _along(imag, sin, dim), _along(real, sin, dim) + _along(imag, cos, dim))


def fft(input, n=None, dim=-1, norm=None):
    return _transform(input, n, dim, norm, -1)


def ifft(input, n=None, dim=-1, norm=None):
    return _transform(input, n, dim, norm, 1)


def rfft(input, n=None, dim=-1, norm=None):
    if isinstance(input, Complex):
        raise RuntimeError('rfft expects a real input tensor')
    return _transform(input, n, dim, norm, -1, (n or input.shape[dim]) // 2 + 1)


def irfft(input, n=None, dim=-1, norm=None):
    """Of what is left out, element n - k is the conjugate of k's: it counts as k does, which is twice."""
    real, imag = _parts(input)
    real = real if real.is_floating_point() else real.float()
    n = n or 2 * (real.shape[dim] - 1)
    half = n // 2 + 1
    real = _sized(real, half, dim)
    cos, sin = _roots(n, n, real, 1)
    twice = torch.tensor([1.0 if k == 0 or 2 * k == n else 2.0 for k in range(half)]).to(real.dtype).unsqueeze(1)
    twice = twice * _scale(n, norm, True)
    out = _along(real, cos[:half] * twice, dim)
    return out if imag is None else out - _along(_sized(imag, half, dim), sin[:half] * twice, dim)


def _other(norm):
    """What scales the inverse in place of the transform."""
    return {None: 'forward', 'backward': 'forward', 'forward': 'backward'}.get(norm, norm)


def _conjugate(x):
    return x.conj() if isinstance(x, Complex) else x


def hfft(input, n=None, dim=-1, norm=None):
    return irfft(_conjugate(input), n, dim, _other(norm))


def ihfft(input, n=None, dim=-1, norm=None):
    return rfft(input, n, dim, _other(norm)).conj()


def _dims(x, s, dim):
    if dim is None:
        dim = list(range(x.ndim if s is None else -len(s), 0)) if s is not None else list(range(x.ndim))
    dim = [dim] if isinstance(dim, int) else list(dim)
    return dim, [None] * len(dim) if s is None else [None if n == -1 else n for n in s]


def _each(transform, x, s, dim, norm):
    dim, s = _dims(x, s, dim)
    for d, n in zip(dim, s):
        x = transform(x, n, d, norm)
    return x


def fftn(input, s=None, dim=None, norm=None):
    return _each(fft, input, s, dim, norm)


def ifftn(input, s=None, dim=None, norm=None):
    return _each(ifft, input, s, dim, norm)


def rfftn(input, s=None, dim=None, norm=None):
    dim, s = _dims(input, s, dim)
    return fftn(rfft(input, s[-1], dim[-1], norm), s[:-1], dim[:-1], norm) if len(dim) > 1 else rfft(input, s[0], dim[0], norm)


def irfftn(input, s=None, dim=None, norm=None):
    dim, s = _dims(input, s, dim)
    return irfft(ifftn(input, s[:-1], dim[:-1], norm) if len(dim) > 1 else input, s[-1], dim[-1], norm)


def hfftn(input, s=None, dim=None, norm=None):
    return irfftn(_conjugate(input), s, dim, _other(norm))


def ihfftn(input, s=None, dim=None, norm=None):
    return rfftn(input, s, dim, _other(norm)).conj()


def hfft2(input, s=None, dim=(-2, -1), norm=None):
    return hfftn(input, s, dim, norm)


def ihfft2(input, s=None, dim=(-2, -1), norm=None):
    return ihfftn(input, s, dim, norm)


def fft2(input, s=None, dim=(-2, -1), norm=None):
    return fftn(input, s, dim, norm)


def ifft2(input, s=None, dim=(-2, -1), norm=None):
    return ifftn(input, s, dim, norm)


def rfft2(input, s=None, dim=(-2, -1), norm=None):
    return rfftn(input, s, dim, norm)


def irfft2(input, s=None, dim=(-2, -1), norm=None):
    return irfftn(input, s, dim, norm)


def fftfreq(n, d=1.0, dtype=None, device=None):
    return torch.tensor([(k if k < (n + 1) // 2 else k - n) / (n * d) for k in range(n)])


def rfftfreq(n, d=1.0, dtype=None, device=None):
    return torch.tensor([k / (n * d) for k in range(n // 2 + 1)])


def fftshift(input, dim=None):
    dim = _dims(input, None, dim)[0]
    return torch.roll(input, [input.shape[d] // 2 for d in dim], dim)


def ifftshift(input, dim=None):
    dim = _dims(input, None, dim)[0]
    return torch.roll(input, [-(input.shape[d] // 2) for d in dim], dim)


# -- transforms of windows, one after another


def _framed(window, n_fft, win_length, like):
    """The window, ones where there is none, with zeros on both sides up to n_fft elements."""
    window = torch.ones(win_length, dtype=like.dtype, device=like.device) if window is None else window
    left = (n_fft - win_length) // 2
    return torch.nn.functional.pad(window, (left, n_fft - win_length - left))


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', normalized=False,
         onesided=None, return_complex=None, align_to_window=None):
    if return_complex is None:
        raise RuntimeError('stft requires the return_complex parameter be given for real inputs')
    if isinstance(input, Complex) or isinstance(window, Complex):
        refuse('stft of complex numbers is not supported')
    x = input if input.ndim == 2 else input.unsqueeze(0)
    if center:
        x = torch.nn.functional.pad(x.unsqueeze(1), (n_fft // 2, n_fft // 2), pad_mode).squeeze(1)
    frames = x.unfold(-1, n_fft, hop_length or n_fft // 4) * _framed(window, n_fft, win_length or n_fft, x)
    out = (fft if onesided is False else rfft)(frames, norm='ortho' if normalized else None).transpose(-1, -2)
    out = out if input.ndim == 2 else out.squeeze(0)
    return out if return_complex else torch.view_as_real(out)


def _added(frames, hop):
    """[batch, t, n] -> [batch, (t - 1) * hop + n]: each hop elements behind the one before. In parts of hop elements."""
    t, n = frames.shape[-2:]
    parts = -(-n // hop)
    x = torch.nn.functional.pad(frames, (0, parts * hop - n)).unflatten(-1, (parts, hop))
    total = 0
    for k in range(parts):
        total = total + torch.nn.functional.pad(x[..., k, :], (0, 0, k, parts - 1 - k))
    return total.flatten(-2)[..., :(t - 1) * hop + n]


def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
          length=None, return_complex=False):
    """Overlapping frames are added up, and divided by what their windows' squares add up to."""
    if return_complex or not isinstance(input, Complex):
        refuse('istft takes tensors of complex numbers, and makes real ones')
    x, hop = (input if input.ndim == 3 else input.unsqueeze(0)).transpose(-1, -2), hop_length or n_fft // 4
    norm = 'ortho' if normalized else None
    frames = irfft(x[..., :n_fft // 2 + 1], n_fft, norm=norm)  # of two sides, too, it is one that counts
    window = _framed(window, n_fft, win_length or n_fft, frames)
    weight = _added((window * window).expand(1, frames.shape[1], n_fft), hop)
    out, start = _added(frames * window, hop), n_fft // 2 if center else 0
    end = out.shape[-1] - start if length is None else min(start + length, out.shape[-1])
    out = out[:, start:end] / weight[:, start:end]
    if length is not None and length > end - start:
        out = torch.nn.functional.pad(out, (0, length - (end - start)))
    return out if input.ndim == 3 else out.squeeze(0)


def __getattr__(name):
    if name[:2] == '__':
        raise AttributeError(name)
    refuse(f'torch.fft.{name} is not supported')
