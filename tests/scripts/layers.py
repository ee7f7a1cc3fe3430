"""Layers over time and attention, windows and losses made of operators: what PyTorch gives for the same weights."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def fill(*shape):
    n = 1
    for size in shape:
        n *= size
    return (torch.arange(n) * 37 % 19 - 9).reshape(shape) / 10


def show(name, *tensors):
    for x in tensors:
        flat = x.detach().flatten()
        weight = torch.arange(flat.numel()) % 7 + 1
        print(name, list(x.shape), [round(v, 3) for v in flat[:4].tolist()], f'{(flat * weight).sum().item():.2f}')


def run(name, layer, *args, **kwargs):
    layer.eval()
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(fill(*p.shape))
    out = layer(*args, **kwargs)
    flat = []
    for o in out if isinstance(out, tuple) else (out,):
        flat += list(o) if isinstance(o, tuple) else [o]
    show(name, *[o for o in flat if o is not None])
    flat[0].sum().backward()
    show(name + ' gradients', *[p.grad for p in list(layer.parameters())[:2]])


x, h = fill(4, 2, 3), fill(2, 2, 5)
run('LSTM', nn.LSTM(3, 5, 2), x, (h, h / 2))
run('LSTM both ways', nn.LSTM(3, 5, bidirectional=True, batch_first=True), x)
run('LSTM projected', nn.LSTM(3, 5, 2, bidirectional=True, proj_size=2), x)
run('GRU', nn.GRU(3, 5, 2, bias=False), x, h)
run('GRU without batch', nn.GRU(3, 5, bidirectional=True), x[:, 0])
run('RNN', nn.RNN(3, 5, nonlinearity='relu'), x)
run('LSTMCell', nn.LSTMCell(3, 5), x[0], (h[0], h[1]))
run('GRUCell', nn.GRUCell(3, 5), x[0], h[0])
run('RNNCell', nn.RNNCell(3, 5), x[0])
e = fill(3, 4, 8)
causal = torch.ones(4, 4).triu(1).bool()
padding = torch.arange(4) > torch.tensor([[3], [1], [2]])
run('attention', nn.MultiheadAttention(8, 2, batch_first=True), e, e, e, attn_mask=causal)
run('attention to another', nn.MultiheadAttention(8, 4, bias=False), e, e[:2], e[:2], average_attn_weights=False)
k = e[:2]
run('attention to keys that are values', nn.MultiheadAttention(8, 4), e, k, k)
run('attention of padded', nn.MultiheadAttention(8, 2, batch_first=True), e, e, e, key_padding_mask=padding)
run('encoder', nn.TransformerEncoderLayer(8, 2, 16, norm_first=True, activation='gelu', batch_first=True), e)
run('decoder', nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), e, e * 0.5, tgt_mask=causal)
run('encoders', nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, nn.LayerNorm(8)), e)
run('EmbeddingBag', nn.EmbeddingBag(5, 3, mode='sum', padding_idx=1), torch.tensor([[0, 1, 4], [2, 2, 1]]))
run('Bilinear', nn.Bilinear(3, 5, 2), x[0], h[0])

image = fill(2, 4, 6, 5)
show('windows', F.local_response_norm(image, 3), F.lp_pool2d(image.abs(), 2, 2), F.channel_shuffle(image, 2),
     F.fold(F.unfold(image, (3, 2), padding=1, stride=2), (6, 5), (3, 2), padding=1, stride=2),
     *F.max_pool2d(image, (3, 2), 2, 1, return_indices=True), *F.max_pool1d(image[0], 2, return_indices=True))
show('resized', F.interpolate(image, scale_factor=2, mode='bilinear'), F.interpolate(image, (4, 9), mode='bilinear', align_corners=True),
     F.interpolate(image[0], 7, mode='linear'), F.interpolate(image, scale_factor=1.7, mode='bilinear'))
grid = fill(2, 3, 4, 2) * 1.2
show('sampled', F.grid_sample(image, grid, align_corners=False), F.grid_sample(image, grid, 'nearest', 'border', True),
     F.affine_grid(fill(2, 2, 3), (2, 4, 3, 5), align_corners=False))
a, b, t = fill(6, 5), fill(6, 5).flip(0), torch.tensor([0, 4, 2, 2, 1, 3])
show('losses', F.multi_margin_loss(a, t), F.multi_margin_loss(a, t, p=2, weight=b[0].abs()),
     F.multilabel_soft_margin_loss(a, (b > 0).float()), F.multilabel_soft_margin_loss(a, (b > 0).float(), reduction='none'),
     F.triplet_margin_with_distance_loss(a, b, a * 2, distance_function=lambda x, y: 1 - F.cosine_similarity(x, y), swap=True))
show('einsum', torch.einsum('ii->i', fill(4, 4)), torch.einsum('ii', fill(4, 4)), torch.einsum('bii,i->b', fill(2, 3, 3), fill(3)))
n = torch.tensor([1, 7, -9, 100])
print((n << 2).tolist(), (n >> 1).tolist(), (1 << torch.arange(4)).tolist(), torch.bitwise_right_shift(n, 3).tolist())

volume = fill(2, 3, 4, 5, 6)
for mode in ('bilinear', 'bicubic'):
    for aligned in (False, True):
        show('filtered ' + mode, *[F.interpolate(image, size=size, mode=mode, align_corners=aligned, antialias=True)
                                   for size in ((3, 2), (4, 8), (1, 5))],
             F.interpolate(image, scale_factor=(1.7, 0.4), mode=mode, align_corners=aligned, antialias=True))
for padding in ('zeros', 'border', 'reflection'):
    for aligned in (False, True):
        show('sampled ' + padding, F.grid_sample(image, grid, 'bicubic', padding, aligned),
             *[F.grid_sample(volume, fill(2, 3, 4, 2, 3) * 1.3, mode, padding, aligned) for mode in ('bilinear', 'nearest')])
show('grid', F.affine_grid(fill(2, 3, 4), (2, 4, 3, 5, 2), align_corners=True), F.affine_grid(fill(1, 3, 4), (1, 1, 1, 5, 2), align_corners=False))
double = fill(1, 2, 5, 4).double()
for kind in ('bilinear', 'bicubic'):
    resized = F.interpolate(double, scale_factor=1.7, mode=kind)
    print(kind, [f'{v:.12f}' for v in resized.flatten()[::17].tolist()])
for norm in (nn.InstanceNorm3d(3, affine=True, track_running_stats=True), nn.BatchNorm3d(3, momentum=None)):
    show('statistics', norm(volume), norm(volume * 2 + 1), norm.running_mean, norm.running_var, norm.eval()(volume))
show('one image', nn.InstanceNorm2d(4)(image[0]), nn.InstanceNorm1d(4)(image[:, :, 0]))
a, i = F.adaptive_max_pool2d(image, (4, 3), return_indices=True)
b, j = F.max_pool2d(image, 2, return_indices=True)
show('places', a, i, b, j, F.max_unpool2d(b, j, 2, output_size=(6, 5)), nn.MaxUnpool2d(2)(b, j % 16), torch.dist(a, a * 2, 3))
for equal in (lambda x: x.max(1)[0], lambda x: x.min(0, True).values, lambda x: x.amax(1), lambda x: F.adaptive_max_pool1d(x, 4)):
    x = (fill(4, 6) * 3).round().requires_grad_()
    show('equal extrema', *torch.autograd.grad(equal(x).square().sum(), x))
