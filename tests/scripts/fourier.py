"""torch.fft: there and back, of reals and of complex numbers, cut off and filled up, along several dimensions."""
import torch

torch.manual_seed(0)
x = torch.arange(24.0).reshape(2, 3, 4).sin()


def show(name, value):
    value = torch.view_as_real(torch.resolve_conj(value)) if torch.is_complex(value) else value
    print(name, tuple(value.shape), [round(v + 0.0, 3) + 0.0 for v in value.flatten()[:6].tolist()], f'{(value * value).sum().item():.3f}')


for norm in (None, 'ortho', 'forward'):
    show('fft', torch.fft.fft(x, norm=norm))
    show('ifft', torch.fft.ifft(torch.fft.fft(x), norm=norm))
    show('rfft', torch.fft.rfft(x, dim=1, norm=norm))
    show('irfft', torch.fft.irfft(torch.fft.rfft(x), norm=norm))
show('n', torch.fft.fft(x, n=3))
show('n', torch.fft.rfft(x, n=7))
show('odd', torch.fft.irfft(torch.fft.rfft(x, dim=1), n=3, dim=1))
show('fft2', torch.fft.fft2(x).real)
show('ifft2', torch.fft.ifft2(torch.fft.fft2(x)).real)
show('rfft2', torch.fft.rfft2(x))
show('irfft2', torch.fft.irfft2(torch.fft.rfft2(x), s=(3, 4)))
show('fftn', torch.fft.fftn(x, dim=(0, 2)))
show('irfftn', torch.fft.irfftn(torch.fft.rfftn(x)))
show('shift', torch.fft.fftshift(x, dim=(1, 2)))
show('shift', torch.fft.ifftshift(x))
show('freq', torch.fft.fftfreq(5, 0.5))
show('freq', torch.fft.rfftfreq(5))
y = x.clone().requires_grad_()
(torch.fft.fft2(torch.fft.fft(y)).real * x).sum().backward()
show('grad', y.grad)

# -- of Hermitian halves, and of windows one after another
z = torch.fft.fft(x)
for norm in (None, 'ortho', 'forward'):
    show('hfft', torch.fft.hfft(z, 5, norm=norm))
    show('ihfft', torch.fft.ihfft(x, norm=norm))
show('hfft2', torch.fft.hfft2(z))
show('hfftn', torch.fft.hfftn(x))
show('ihfftn', torch.fft.ihfftn(x, dim=(0, 2)))
show('whole', torch.fft.irfft(torch.arange(4)))
s, hann = torch.arange(80.0).reshape(2, 40).mul(0.7).sin(), torch.hann_window(6)
show('stft', torch.stft(s, 8, return_complex=True))
show('stft', torch.stft(s[0], 8, 3, 6, hann, normalized=True, return_complex=False))
show('stft', s[0].stft(8, 3, 6, hann, center=False, onesided=False, return_complex=True).abs())
show('istft', torch.istft(torch.stft(s, 8, return_complex=True), 8))
show('istft', torch.istft(torch.stft(s[0], 8, 3, 7, torch.hamming_window(7), normalized=True, return_complex=True), 8, 3, 7,
                          torch.hamming_window(7), normalized=True, length=36))
show('istft', torch.istft(torch.stft(s, 8, 2, onesided=False, return_complex=True), 8, 2, onesided=False, length=44))
power = torch.compile(lambda a: torch.stft(a, 8, window=torch.hann_window(8), return_complex=True).abs().square().log1p())
show('power', power(s))
show('resolved', torch.resolve_conj(torch.fft.fft(x)))
show('resolved', torch.resolve_conj(torch.fft.fft(x).conj()))
