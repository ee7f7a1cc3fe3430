"""torch.fft: there and back, of reals and of complex numbers, cut off and filled up, along several dimensions."""
import torch

torch.manual_seed(0)
x = torch.arange(24.0).reshape(2, 3, 4).sin()


def show(name, value):
    value = torch.view_as_real(value) if torch.is_complex(value) else value
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
