"""What a module keeps, loads and says of itself; copies and averages of it."""
import torch, torch.nn as nn, copy
from collections import OrderedDict
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(4, 3)
        self.bn = nn.BatchNorm1d(3)
        self.register_buffer('steps', torch.zeros(1, dtype=torch.long))
        self.register_buffer('tmp', torch.ones(2), persistent=False)
        self.scale = nn.Parameter(torch.ones(1))
    def forward(self, x):
        self.steps += 1
        return self.bn(self.fc1(x)) * self.scale
net = Net()
for k, v in net.state_dict().items():
    print(k, "\t", v.size())
print([n for n, _ in net.named_buffers()], [n for n, _ in net.named_modules()], [n for n, _ in net.named_children()])
with torch.no_grad():
    for p in net.parameters(): p.copy_(torch.linspace(0, 1, p.numel()).reshape(p.shape))
twin = copy.deepcopy(net)
other = Net()
print(other.load_state_dict(net.state_dict()))
x = torch.linspace(-1, 2, 20).reshape(5, 4)
print(torch.equal(other(x), net(x)), twin.steps, net.steps, other.steps)
try:
    other.load_state_dict(OrderedDict([('fc1.weight', torch.zeros(3, 4)), ('nope', torch.zeros(1))]))
except RuntimeError as e:
    print(e)
try:
    other.load_state_dict({**net.state_dict(), 'fc1.weight': torch.zeros(4, 4)})
except RuntimeError as e:
    print(e)
r = other.load_state_dict({'fc1.bias': torch.zeros(3), 'x': torch.zeros(2)}, strict=False)
print(r.missing_keys, r.unexpected_keys)
print(net.bn.running_mean, net.bn.num_batches_tracked)
class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.clone().detach() for k, v in model.state_dict().items()}
    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            if v.dtype.is_floating_point:
                self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)
            else:
                self.shadow[k].copy_(v)
ema = EMA(twin, 0.9)
ema.update(net)
print({k: round(v.float().sum().item(), 4) for k, v in ema.shadow.items()})
print(sum(p.numel() for p in net.parameters() if p.requires_grad))
for p in net.fc1.parameters(): p.requires_grad = False
print(sum(p.numel() for p in net.parameters() if p.requires_grad))
o = torch.optim.SGD(filter(lambda p: p.requires_grad, net.parameters()), lr=.1, momentum=.9)
print(o.state_dict()['param_groups'][0]['lr'], list(o.state_dict().keys()))
print(net)
net.apply(lambda m: print(type(m).__name__))
print(hasattr(net, 'fc1'), hasattr(net, 'fc9'))
try:
    net.nothing
except AttributeError as e:
    print(e)
ms = [
    nn.Flatten(), nn.Unflatten(1, (2, 3)), nn.BatchNorm1d(3), nn.BatchNorm2d(3, affine=False), nn.LayerNorm(4),
    nn.LayerNorm((2, 3), elementwise_affine=False), nn.GroupNorm(2, 4), nn.InstanceNorm2d(3), nn.RMSNorm(4),
    nn.Dropout(), nn.Dropout(0.1), nn.Dropout2d(.2), nn.ReLU(), nn.ReLU(inplace=True), nn.LeakyReLU(),
    nn.LeakyReLU(.2, inplace=True), nn.ELU(), nn.SELU(), nn.GELU(), nn.GELU(approximate='tanh'), nn.SiLU(),
    nn.Sigmoid(), nn.Tanh(), nn.Softmax(dim=-1), nn.LogSoftmax(1), nn.Softplus(), nn.PReLU(), nn.Hardtanh(),
    nn.Hardswish(), nn.ReLU6(), nn.Mish(), nn.MaxPool2d(2), nn.MaxPool2d((2, 2), stride=2, padding=1),
    nn.AvgPool2d(2, 2), nn.AdaptiveAvgPool2d((1, 1)), nn.AdaptiveAvgPool2d(1), nn.AdaptiveMaxPool2d(2),
    nn.MaxPool1d(2), nn.Embedding(10, 3), nn.Embedding(10, 3, padding_idx=0), nn.Linear(3, 4, bias=False),
    nn.Bilinear(2, 3, 4), nn.LSTM(3, 4),
    nn.LSTM(3, 4, num_layers=2, batch_first=True, dropout=.1, bidirectional=True), nn.LSTM(3, 4, 2, proj_size=2), nn.GRU(3, 4), nn.RNN(3, 4),
    nn.LSTMCell(3, 4), nn.Identity(), nn.Upsample(scale_factor=2, mode='bilinear'), nn.PixelShuffle(2),
    nn.ZeroPad2d(1), nn.ReflectionPad2d(1), nn.MSELoss(), nn.CrossEntropyLoss(), nn.BCEWithLogitsLoss(),
    nn.L1Loss(), nn.ModuleList([nn.Linear(1, 2), nn.Linear(1, 2)]),
    nn.ModuleList([nn.Linear(1, 2), nn.ReLU(), nn.ReLU()]), nn.ModuleDict({'a': nn.Linear(1, 2)}),
    nn.Sequential(nn.Linear(1, 2), nn.Sequential(nn.ReLU())), nn.CosineSimilarity(dim=1), nn.Hardsigmoid(),
    nn.GLU(), nn.Threshold(.1, 2), nn.CELU(), nn.LogSigmoid(), nn.Tanhshrink(), nn.AlphaDropout(),
    nn.EmbeddingBag(4, 3), nn.Softmax2d(), nn.LocalResponseNorm(2), nn.NLLLoss(), nn.Fold((4, 5), 2),
    nn.Unfold(3), nn.ConstantPad1d(2, 3.5), nn.Sequential(), nn.ModuleList(),
]
for m in ms: print(m)

# A compiled module holds the module that it compiles.
inner = nn.Linear(2, 1)
outer = torch.compile(inner)
assert list(outer.state_dict()) == ['_orig_mod.weight', '_orig_mod.bias'] and list(inner.state_dict()) == ['weight', 'bias']
assert [name for name, _ in outer.named_parameters()] == ['_orig_mod.weight', '_orig_mod.bias']
outer.load_state_dict({name: torch.ones_like(value) for name, value in outer.state_dict().items()})
assert inner.weight.tolist() == [[1.0, 1.0]]

# What a program writes on a tensor stays on that one, is copied nowhere, and is guarded.
class Marked(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        self.a._no_decay = True

    def forward(self, x):
        return x * self.a + self.b if self.a._no_decay else x
marked = Marked()
assert [hasattr(p, '_no_decay') for p in marked.parameters()] == [True, False]
assert not hasattr(nn.Parameter(marked.a), '_no_decay') and not hasattr(marked.a + 1, '_no_decay')
compiled = torch.compile(marked)
print(compiled(torch.ones(3)).tolist())
marked.a._no_decay = False
print(compiled(torch.ones(3)).tolist())

# Parameters that modules compute from others.
from torch.nn.utils import parametrize
class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, a):
        return a.triu()
class Double(nn.Module):
    def forward(self, x):
        return x * 2
layer = nn.Linear(3, 3)
layer.load_state_dict({'weight': torch.arange(9.).view(3, 3), 'bias': torch.zeros(3)})
parametrize.register_parametrization(layer, 'weight', Symmetric())
print(layer.weight, [n for n, p in layer.named_parameters()], parametrize.is_parametrized(layer, 'bias'))
parametrize.register_parametrization(layer, 'weight', Double())
with parametrize.cached():
    layer(torch.ones(2, 3)).sum().backward()
print(layer.parametrizations.weight.original.grad, list(layer.state_dict()))
parametrize.remove_parametrizations(layer, 'weight')
print([n for n, p in layer.named_parameters()], layer.weight, parametrize.is_parametrized(layer))
try:
    parametrize.register_parametrization(layer, 'other', Double())
except ValueError as e:
    print(str(e)[:6])

# What is spread over devices where there are some.
class Offset(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = nn.Buffer(torch.full((2,), 3.0))

    def forward(self, x):
        return x + self.by
spread = nn.DataParallel(Offset())
print(spread(torch.ones(2)), list(spread.state_dict()), isinstance(spread.module, Offset), spread)
class Packed(nn.Module):  # loads what was saved with a weight for each of three
    def __init__(self):
        super().__init__()
        self.wqkv = nn.Linear(2, 6, bias=False)
        self._register_load_state_dict_pre_hook(self.pack)
        self.register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: print(type(module).__name__, prefix, list(state)))
    def pack(self, state_dict, prefix, *args):
        if prefix + 'wq.weight' in state_dict:
            state_dict[prefix + 'wqkv.weight'] = torch.cat([state_dict.pop(prefix + f'w{c}.weight') for c in 'qkv'])
packed = nn.Sequential(Packed(), nn.Linear(2, 1, bias=False))
given = {f'0.w{c}.weight': torch.full((2, 2), float(i)) for i, c in enumerate('qkv')}
given['1.weight'] = torch.ones(1, 2)
handle = packed.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
print(packed.load_state_dict(given), list(given), packed[0].wqkv.weight.sum().item())
del given['1.weight']
print(packed.load_state_dict(given))
handle.remove()
try:
    packed.load_state_dict(given)
except RuntimeError as e:
    print(e)
packed[0].register_state_dict_pre_hook(lambda module, prefix, keep_vars: print('before', prefix, keep_vars))
packed[0]._register_state_dict_hook(lambda module, state, prefix, meta: {'lost': 1})
packed[0].register_state_dict_post_hook(lambda module, state, prefix, meta: state.update({prefix + 'version': 2}))
packed._register_state_dict_hook(lambda module, state, prefix, meta: {'model.' + k: v for k, v in state.items()})
print(list(packed.state_dict()))
t = torch.ones(2)
print(t.is_cpu, t.is_cuda, t.is_xpu, t.is_mps, t.is_xla, t.is_mkldnn, t.is_nested, t.is_quantized, t.is_sparse)
