"""Modules: norms without a bias, of batches without elements, and the loss of a linear layer's logits."""
import torch
import torch.nn as nn


def filled(m):
    with torch.no_grad():
        for i, p in enumerate(m.parameters()):
            p.copy_((torch.arange(float(p.numel())) * (1 + i)).sin().view(p.shape))
    return m


x = torch.arange(24.0).cos().reshape(2, 4, 3)
for m in (nn.BatchNorm1d(4, bias=False), nn.InstanceNorm1d(4, affine=True, bias=False), nn.GroupNorm(2, 4, bias=False)):
    y = torch.compile(filled(m))(x)
    print(type(m).__name__, m.bias is None, [f'{round(v, 4) + 0.0:.4f}' for v in y.flatten().tolist()[:6]])
m = nn.BatchNorm1d(4)
y = torch.compile(m)(x[:0])
print(list(y.shape), m.running_mean.tolist(), m.running_var.tolist(), m.num_batches_tracked.item())
for options in ({}, {'out_features': (3,), 'bias': True, 'label_smoothing': 0.1, 'ignore_index': 1}, {'reduction': 'none', 'weight': torch.tensor([1.0, 2.0, 0.5])}):
    m = filled(nn.LinearCrossEntropyLoss(3, 3, **options))
    target = torch.tensor([2, 0, 1, 2]) if not options.get('out_features') else torch.tensor([[2, 0, 1], [1, 1, 0], [0, 2, 2], [1, 0, 2]])
    print([f'{round(v, 4) + 0.0:.4f}' for v in torch.compile(m)(x[0], target).flatten().tolist()])

# -- windows between elements, and more losses
image, samples = torch.arange(2.0 * 2 * 6 * 7).sin().reshape(2, 2, 6, 7), torch.tensor([0.1, 0.7, 0.4, 0.9, 0.0, 0.3, 0.6, 0.2]).reshape(2, 2, 2)


def show(*tensors):
    for t in tensors:
        print(list(t.shape), [round(v, 4) + 0.0 for v in t.flatten().tolist()])


def pools(image, samples):
    cube = image.reshape(2, 2, 7, 2, 3)
    more = torch.stack([samples[..., 0], samples[..., 1], samples[..., 0] / 2], -1)
    return (*nn.FractionalMaxPool2d((2, 3), output_size=(3, 4), return_indices=True, _random_samples=samples)(image),
            nn.functional.fractional_max_pool2d(image[0], 2, output_ratio=(0.5, 0.5), _random_samples=samples[:1]),
            *nn.functional.fractional_max_pool3d(cube, (2, 1, 1), (4, 1, 2), return_indices=True, _random_samples=more),
            nn.LPPool3d(2, (2, 1, 3), 2)(cube))


show(*torch.compile(pools)(image, samples))
image.requires_grad_()
nn.functional.fractional_max_pool2d(image, 3, 2, _random_samples=samples).square().sum().backward()
show(image.grad)
show(nn.MultiLabelMarginLoss(reduction='sum')(x[0], torch.tensor([[0, -1, 2], [1, 0, -1], [-1, 0, 1], [2, 1, 0]])))
print(list(nn.FractionalMaxPool2d(2, output_ratio=0.5)(image).shape))

# -- what layers are, and what their subclasses may call
kinds = [nn.BatchNorm2d(2), nn.InstanceNorm2d(2), nn.ConvTranspose2d(2, 2, 1), nn.ModuleList(), nn.ZeroPad2d(1), nn.ReLU6(), nn.Dropout2d(), nn.EmbeddingBag(2, 2)]
bases = [nn.modules.batchnorm._NormBase, nn.modules.instancenorm._InstanceNorm, nn.modules.conv._ConvNd, nn.Sequential, nn.ConstantPad2d, nn.Hardtanh,
         nn.modules.dropout._DropoutNd, nn.Embedding, nn.InstanceNorm1d, nn.Dropout1d]
print([[int(isinstance(m, base)) for base in bases] for m in kinds])
for m in (nn.BatchNorm1d(2), nn.GroupNorm(1, 2), nn.RMSNorm(2), nn.PReLU(2), nn.InstanceNorm1d(2, affine=True, track_running_stats=True)):
    for t in m.state_dict().values():
        t.fill_(7)
    m.reset_parameters()
    print(m._get_name(), [t.tolist() for t in m.state_dict().values()])
try:
    nn.BatchNorm2d(2)(torch.ones(2, 2))
except ValueError as error:
    print(error)
for m in (nn.RNN(2, 3, nonlinearity='relu', bias=False), nn.LSTM(2, 4, num_layers=2, proj_size=3)):
    m.reset_parameters()
    print(m.mode, [[list(w.shape) for w in row] for row in m.all_weights], max([p.abs().max().item() for p in m.parameters()]) <= m.hidden_size ** -0.5)
print(list(nn.Conv2d(1, 1, 3, padding=(1, 2), padding_mode='reflect')._reversed_padding_repeated_twice), nn.AvgPool1d(2), nn.ZeroPad1d(1), nn.ReLU6(True))

# -- a parameter of complex numbers is trained as its two parts are
w = nn.Parameter(torch.complex(torch.tensor([1.0, -2.0]), torch.tensor([0.5, 3.0])))
optimizer = torch.optim.Adam([w], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    (torch.fft.irfft(w, n=2) - 1).square().sum().backward()
    print([round(v, 4) + 0.0 for v in torch.view_as_real(w.grad).flatten().tolist()])
    optimizer.step()
print([round(v, 4) for v in torch.view_as_real(w.detach()).flatten().tolist()])

# -- the power method of parametrizations begins with v, that of nn.utils.spectral_norm with u
for norm in (nn.utils.parametrizations.spectral_norm, nn.utils.spectral_norm):
    m = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        m.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
    m = norm(m)
    named = {name.rpartition('.')[2][-2:]: t for name, t in m.named_buffers()}
    named['_u'].copy_(torch.tensor([1.0, 0.0]))
    named['_v'].copy_(torch.tensor([0.0, 1.0]))
    print([round(t, 4) for t in m(torch.eye(2)).flatten().tolist()], [[round(t, 4) for t in named[n].tolist()] for n in ('_u', '_v')])

# -- lists and dicts of parameters are printed, and a plain dict is in the order of its keys
class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({'w': nn.Parameter(torch.ones(2, 3)), 'v': nn.Parameter(torch.ones(1))})
        self.l = nn.ParameterList([nn.Parameter(torch.ones(1)) for _ in range(2)])
        self.e = nn.ParameterList()


print(Held(), nn.ParameterList([nn.Parameter(torch.ones(2, 2).double())]))
print([n for n, _ in Held().named_parameters()], list(nn.ParameterDict([('b', nn.Parameter(torch.ones(1))), ('a', nn.Parameter(torch.ones(1)))]).keys()))
print(slice(1, None), [slice(1, 2, 3)], complex(1, 2).imag, complex(2), (1 + 2j) * 2)

# -- the order of parameters and children: that in which they were registered
class Late(nn.Module):
    def __init__(self):
        super().__init__()
        self.late = self.child = None
        self.register_parameter('bias', None)
        self.register_buffer('seen', None)
        self.first = nn.Parameter(torch.ones(1))
        self.cleared = nn.Parameter(torch.ones(1))
        self.other = nn.Linear(1, 1, bias=False)
        self.child, self.late, self.bias = nn.Linear(1, 1, bias=False), nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
        self.cleared = None
        self.cleared = nn.Parameter(torch.zeros(1))
m = Late()
print([n for n, _ in m.named_parameters()], [n for n, _ in m.named_children()], list(m.state_dict()))
m.other = None
m.other = nn.Linear(1, 2)
print([n for n, _ in m.named_parameters()], [n for n, _ in nn.MultiheadAttention(4, 2, add_bias_kv=True, kdim=3).named_parameters()])
print(46236956174337096.0, 1e16, 9999999999999998.0, -1.2345678901234567e16, 1e-4, 0.00001234)
pool = nn.FractionalMaxPool3d(2, output_size=2, _random_samples=torch.linspace(0, 0.9, 12).reshape(2, 2, 3))
print(pool(torch.arange(250.0).remainder(7).reshape(2, 5, 5, 5)).shape)
m = nn.MultiheadAttention(4, 2, add_bias_kv=True, kdim=3)
print([t.shape for t in m(torch.ones(5, 4), torch.ones(6, 3), torch.ones(6, 4), key_padding_mask=torch.zeros(6, dtype=torch.bool))], m(torch.ones(5, 4), torch.ones(6, 3), torch.ones(6, 4), need_weights=False)[1])
