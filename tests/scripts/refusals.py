"""What calls say that are no right ones, and what lies at their edges: the value, or the exception, of each."""
import torch
import torch.nn.functional as F


def say(*calls):
    for i, call in enumerate(calls):
        try:
            v = call()
        except Exception as e:
            print(i, type(e).__name__, e)
        else:
            if isinstance(v, torch.Tensor):
                v = (list(v.shape), str(v.dtype), v.tolist())
            print(i, v)


x, y, n, b = torch.tensor([[0.5, -1.0], [2.0, 4.0]]), torch.tensor([1.0, 2.0]), torch.tensor([2, 0, 1]), torch.tensor([True, False])
scalar, empty = torch.tensor(3.0), torch.zeros(0, 2)

print('indexing')
say(lambda: x[2], lambda: x[-3], lambda: x[0, 2], lambda: x[0, 0, 0], lambda: scalar[0], lambda: x[1.5],
    lambda: x['a'], lambda: x[None].shape, lambda: x[..., 0], lambda: x[[0, 1], [1, 0]], lambda: x[[0, 5]],
    lambda: x[b], lambda: x[:, b], lambda: x[1:1].shape, lambda: x[5:].shape, lambda: x[::2], lambda: x[::-1],
    lambda: x[::0], lambda: n[True].shape, lambda: n[n], lambda: n[n > 0], lambda: empty[0], lambda: empty.shape[2],
    lambda: x[0][1].item(), lambda: x[n], lambda: x[1, None, :].shape, lambda: x[True].shape, lambda: x[False].shape,
    lambda: x[:, None, 1].shape, lambda: x[-1:, -1], lambda: x[slice(0, 1)], lambda: x[(0,)])


def put(at, value):
    z = x.clone()
    z[at] = value
    return z


print('assignments')
say(lambda: put(0, 1), lambda: put((0, 1), 7.5), lambda: put(5, 1), lambda: put(slice(None), y),
    lambda: put(slice(None), torch.zeros(3)), lambda: put(b, 0.0), lambda: put([1, 0], y), lambda: put(x > 0, -1),
    lambda: put('a', 1), lambda: put(0, 'a'), lambda: put(..., 3), lambda: put((slice(None), 0), y),
    lambda: put((slice(None), 0), x), lambda: put(0, None), lambda: put(None, 1), lambda: put(n, 1))

print('numbers')
say(lambda: x.item(), lambda: float(y), lambda: int(scalar), lambda: float(scalar), lambda: bool(scalar),
    lambda: bool(y), lambda: bool(empty), lambda: int(x[0, 0]), lambda: complex(scalar), lambda: len(scalar),
    lambda: len(x), lambda: len(empty), lambda: scalar.tolist(), lambda: empty.tolist(), lambda: list(scalar),
    lambda: range(torch.tensor(3)), lambda: [0, 1, 2][torch.tensor(1)], lambda: [0, 1][scalar], lambda: '%d' % scalar,
    lambda: f'{scalar:.2f}', lambda: f'{y:.2f}', lambda: 1 if x.sum() > 0 else 2, lambda: not scalar, lambda: 2.0 in y,
    lambda: round(scalar.item(), 1), lambda: max(y), lambda: min(y, y), lambda: sum(y), lambda: abs(-y),
    lambda: pow(y, 2), lambda: -b, lambda: ~y, lambda: ~n, lambda: +n)

print('operators')
say(lambda: x + torch.ones(3), lambda: x @ torch.ones(3), lambda: x @ y, lambda: y @ y, lambda: scalar @ y,
    lambda: x + 'a', lambda: 'a' + x, lambda: x + None, lambda: x + [1, 2], lambda: y // 0, lambda: n % 2,
    lambda: n / 2, lambda: n ** 2, lambda: 2 ** n, lambda: y ** y, lambda: n << 1, lambda: n >> 1, lambda: y << 1,
    lambda: n & 1, lambda: y & 1, lambda: b & b, lambda: b | True, lambda: b ^ b, lambda: b + b, lambda: b - b,
    lambda: x == None, lambda: x != 2, lambda: x is x, lambda: n == n.float(), lambda: 1 - n, lambda: 1 / n,
    lambda: 7 // n[:1], lambda: 7 % n[:1], lambda: x.__add__(1), lambda: torch.add(x, y, alpha=2),
    lambda: torch.add(n, n, alpha=0.5), lambda: x.add(1, 2), lambda: x.add(other=1, alpha=2), lambda: x.add(),
    lambda: x.add(y, beta=1))

print('reductions')
say(lambda: x.sum(2), lambda: x.sum(-3), lambda: x.sum((0, 0)), lambda: x.sum(()), lambda: x.sum(dim=None),
    lambda: x.sum(0, True), lambda: x.mean(), lambda: n.mean(), lambda: n.sum(), lambda: b.sum(), lambda: n.prod(),
    lambda: x.amax((0, 1)), lambda: empty.amax(), lambda: empty.amax(0), lambda: empty.amax(1), lambda: empty.sum(0),
    lambda: x.max(0), lambda: x.min(1, keepdim=True).values, lambda: x.max(y), lambda: x.argmax(), lambda: x.argmax(0),
    lambda: empty.argmax(), lambda: x.std(), lambda: x.std(0), lambda: x.std(unbiased=False),
    lambda: x.std(correction=0), lambda: x.var(0, correction=2), lambda: x.norm(), lambda: x.norm(1),
    lambda: x.norm(float('inf')), lambda: x.norm(2, 0), lambda: n.norm(), lambda: x.all(), lambda: x.any(1),
    lambda: x.cumsum(0), lambda: x.cumsum(), lambda: x.cumsum(2), lambda: n.cumsum(0), lambda: x.logsumexp(0),
    lambda: x.logsumexp(5), lambda: x.softmax(0), lambda: x.softmax(), lambda: n.softmax(0, dtype=torch.float32),
    lambda: x.median(), lambda: x.sort(0).values, lambda: x.topk(3), lambda: x.topk(1).indices,
    lambda: x.topk(1, 0).values, lambda: x.kthvalue(1).values, lambda: x.unique(), lambda: x.count_nonzero(),
    lambda: x.aminmax(), lambda: x.sum(axis=1), lambda: x.sum(dim=1, keepdims=True),
    lambda: x.sum(1, dtype=torch.float64), lambda: n.sum(dtype=torch.float32), lambda: x.sum('a'))

print('shapes')
say(lambda: x.view(3), lambda: x.view(-1), lambda: x.view(-1, -1), lambda: x.view(0), lambda: x.reshape(1, 4),
    lambda: x.reshape(3, -1), lambda: x.reshape(), lambda: x.permute(0), lambda: x.permute(0, 0),
    lambda: x.permute(1, 0), lambda: x.transpose(0, 2), lambda: x.transpose(0, 1), lambda: x.t(),
    lambda: torch.zeros(1, 2, 3).t(), lambda: x.T, lambda: x.mT, lambda: x.expand(3, 2, 2).shape,
    lambda: x.expand(2, 3), lambda: x.expand(-1, -1).shape, lambda: x.squeeze(0).shape, lambda: x.unsqueeze(3),
    lambda: x.unsqueeze(-1).shape, lambda: x.flatten(1, 0), lambda: x.flatten().shape,
    lambda: x.unflatten(1, (2, 1)).shape, lambda: x.unflatten(1, (3, 1)), lambda: x.repeat(2),
    lambda: x.repeat(2, 1).shape, lambda: x.repeat_interleave(2, 0), lambda: x.chunk(3), lambda: x.chunk(0),
    lambda: x.split(0), lambda: x.split([1, 2]), lambda: [list(p.shape) for p in x.split(1)], lambda: x.unbind(2),
    lambda: x.narrow(0, 1, 2), lambda: x.narrow(0, 1, 1), lambda: x.select(0, 2), lambda: x.select(1, -1),
    lambda: x.roll(1), lambda: x.roll((1, 1), 0), lambda: x.flip(0), lambda: x.flip(2), lambda: x.rot90(),
    lambda: x.diagonal(), lambda: x.diagonal(1), lambda: y.diagonal(), lambda: torch.diag(y), lambda: x.tril(-1),
    lambda: y.tril(), lambda: x.triu(1), lambda: x.unfold(0, 3, 1), lambda: x.unfold(1, 1, 1).shape, lambda: x.size(),
    lambda: x.size(2), lambda: x.size(-1), lambda: x.stride(), lambda: x.numel(), lambda: x.dim(), lambda: x.ndim,
    lambda: x.contiguous() is x, lambda: x.t().is_contiguous(), lambda: x.broadcast_to((2, 2, 2)).shape,
    lambda: x.movedim(0, 1), lambda: x.swapaxes(0, 1), lambda: x.view_as(y),
    lambda: x.expand_as(torch.zeros(1, 2, 2)).shape, lambda: x.tile((2,)).shape, lambda: x.ravel().shape)

print('joined')
say(lambda: torch.cat([]), lambda: torch.cat([x, y]), lambda: torch.cat([x, x], 2),
    lambda: torch.cat([x, n[None, :2]]), lambda: torch.cat((x, empty)), lambda: torch.cat(x),
    lambda: torch.cat([x, 1]), lambda: torch.stack([x, y]), lambda: torch.stack([y, y], 1),
    lambda: torch.stack([y, y], 3), lambda: torch.stack([]), lambda: torch.hstack((y, y)),
    lambda: torch.vstack((y, y)), lambda: torch.dstack((y, y)).shape, lambda: torch.where(b, y, 0),
    lambda: torch.where(y, y, y), lambda: torch.where(b, x, n), lambda: torch.where(x > 0),
    lambda: torch.gather(x, 0, n[None, :2]), lambda: torch.gather(x, 2, n), lambda: x.index_select(0, n),
    lambda: x.index_select(0, n[1:]), lambda: x.index_add(0, n[1:], x), lambda: x.scatter(0, n[None, 1:], 9.0),
    lambda: x.scatter_add(1, n[None, 1:], x[:1]), lambda: x.masked_fill(b, 0), lambda: x.masked_fill(y, 0),
    lambda: x.masked_select(b), lambda: torch.take(x, n), lambda: x.take(torch.tensor([9])),
    lambda: torch.einsum('ij,jk->ik', x, x), lambda: torch.einsum('ij,j', x, y), lambda: torch.einsum('ii', x),
    lambda: torch.einsum('ij,jk->il', x, x), lambda: torch.einsum('ij', x, x), lambda: torch.einsum('i...,i', x, y),
    lambda: torch.tensordot(x, x, 1), lambda: torch.outer(y, y), lambda: torch.outer(x, y), lambda: torch.dot(y, y),
    lambda: torch.dot(x, y), lambda: torch.bmm(x, x), lambda: torch.mm(x, y), lambda: torch.mv(x, y),
    lambda: torch.addmm(y, x, x), lambda: torch.addmm(y, x, x, beta=0, alpha=2), lambda: torch.baddbmm(x, x, x),
    lambda: torch.cross(y, y), lambda: torch.kron(y, y), lambda: torch.cdist(x, x),
    lambda: torch.meshgrid(y, y, indexing='ij'))

print('made')
say(lambda: torch.zeros(2, -1), lambda: torch.zeros((2, 0)).shape, lambda: torch.zeros(2, dtype='f32'),
    lambda: torch.ones(()), lambda: torch.full((2,), 3), lambda: torch.full((2,), True), lambda: torch.arange(3),
    lambda: torch.arange(1, 0), lambda: torch.arange(0, 1, 0.25), lambda: torch.arange(0, 3, 0),
    lambda: torch.arange(3, 0, -1), lambda: torch.arange(2.5), lambda: torch.linspace(0, 1, 3),
    lambda: torch.linspace(0, 1, -1), lambda: torch.linspace(0, 1, 1), lambda: torch.logspace(0, 2, 3),
    lambda: torch.eye(2), lambda: torch.eye(2, 3), lambda: torch.eye(-1), lambda: torch.tensor([[1], [2, 3]]),
    lambda: torch.tensor([1, 'a']), lambda: torch.tensor([1, 2.5]), lambda: torch.tensor([True, 2]),
    lambda: torch.tensor(None), lambda: torch.tensor([]), lambda: torch.tensor([[]]).shape,
    lambda: torch.tensor(2 ** 70), lambda: torch.tensor(x) is x, lambda: torch.tensor([1.5], dtype=torch.int64),
    lambda: torch.zeros_like(n), lambda: torch.empty_like(x).shape, lambda: torch.full_like(n, 2.5),
    lambda: torch.ones_like(5), lambda: x.new_zeros(2), lambda: x.new_tensor([1]), lambda: n.new_full((1,), 7),
    lambda: torch.zeros(2, device='cpu').device, lambda: torch.tril_indices(2, 2), lambda: torch.as_tensor(y) is y,
    lambda: torch.scalar_tensor(2))

print('types')
say(lambda: x.to(torch.int32), lambda: x.to('cpu') is x, lambda: x.to(n), lambda: x.half().dtype, lambda: x.bool(),
    lambda: x.long(), lambda: n.float(), lambda: n.type(torch.float64), lambda: x.type(),
    lambda: x.dtype.is_floating_point, lambda: n.is_floating_point(), lambda: torch.is_tensor(1),
    lambda: torch.promote_types(torch.int32, torch.float16), lambda: torch.result_type(n, 1.5),
    lambda: torch.can_cast(torch.float32, torch.int64), lambda: torch.finfo(torch.float16).max,
    lambda: torch.finfo(torch.int32), lambda: torch.iinfo(torch.int8).min, lambda: torch.iinfo(torch.float32),
    lambda: torch.float32.itemsize, lambda: x.element_size(), lambda: str(torch.bfloat16), lambda: x.sum.nothing,
    lambda: x.int().double().dtype, lambda: x.requires_grad, lambda: n.requires_grad_(), lambda: x.grad,
    lambda: x.is_leaf, lambda: x.detach().requires_grad)

print('functions')
say(lambda: F.relu(x), lambda: F.relu(n), lambda: F.softmax(x, 2), lambda: F.softmax(x, dim=1), lambda: F.linear(x, x),
    lambda: F.linear(x, torch.ones(3, 3)), lambda: F.linear(x, x, y), lambda: F.linear(x, x, torch.ones(3)),
    lambda: F.mse_loss(x, x), lambda: F.mse_loss(x, y), lambda: F.mse_loss(x, x, reduction='nothing'),
    lambda: F.mse_loss(x, x, reduction='none'), lambda: F.l1_loss(x, -x, reduction='sum'),
    lambda: F.cross_entropy(x, n), lambda: F.cross_entropy(x, n[1:]),
    lambda: F.cross_entropy(x, n[1:], ignore_index=0), lambda: F.cross_entropy(x, n[1:], label_smoothing=0.5),
    lambda: F.cross_entropy(x, x), lambda: F.nll_loss(x, n[1:]), lambda: F.nll_loss(x, y),
    lambda: F.kl_div(x, x, reduction='batchmean'), lambda: F.smooth_l1_loss(x, -x, beta=0.5),
    lambda: F.huber_loss(x, -x, delta=2.0), lambda: F.layer_norm(x, (2,)), lambda: F.layer_norm(x, (3,)),
    lambda: F.layer_norm(x, [2, 2]), lambda: F.batch_norm(x, None, None), lambda: F.batch_norm(x, y, y * 0 + 1),
    lambda: F.group_norm(x, 2), lambda: F.group_norm(x, 3), lambda: F.dropout(x, 2.0),
    lambda: F.dropout(x, 0.5, training=False), lambda: F.pad(x, (1, 0)), lambda: F.pad(x, (1,)),
    lambda: F.pad(x, (-1, 0)), lambda: F.pad(x, (1, 1), mode='reflect'), lambda: F.pad(x, (1, 1), value=7),
    lambda: F.one_hot(n), lambda: F.one_hot(n, 2), lambda: F.one_hot(y), lambda: F.embedding(n[1:], x),
    lambda: F.embedding(n, x), lambda: F.embedding(y, x), lambda: F.gelu(x, approximate='tanh'),
    lambda: F.leaky_relu(x, 0.5), lambda: F.elu(x, 2.0), lambda: F.hardtanh(x, -1, 1), lambda: F.softplus(x, 2, 1),
    lambda: F.glu(x), lambda: F.normalize(x), lambda: F.cosine_similarity(x, x), lambda: F.max_pool2d(x, 2),
    lambda: F.max_pool2d(x[None, None], 2), lambda: F.max_pool2d(x[None, None], 3),
    lambda: F.avg_pool2d(x[None, None], 2), lambda: F.avg_pool2d(x[None, None], 0), lambda: F.avg_pool1d(x, 1),
    lambda: F.conv2d(x[None, None], x[None, None]), lambda: F.conv2d(x[None, None], torch.ones(1, 2, 1, 1)),
    lambda: F.conv2d(x[None, None], torch.ones(1, 1, 3, 3)),
    lambda: F.conv2d(x[None, None], torch.ones(1, 1, 3, 3), padding=1),
    lambda: F.conv2d(x[None, None], torch.ones(1, 1, 1, 1), stride=0),
    lambda: F.conv1d(x[None], torch.ones(2, 1, 1), groups=2), lambda: F.conv1d(x[None], torch.ones(2, 1, 1), groups=3),
    lambda: F.conv2d(x[None, None], torch.ones(1, 1, 1, 1), padding='same'),
    lambda: F.interpolate(x[None, None], scale_factor=2), lambda: F.interpolate(x[None, None], size=3),
    lambda: F.interpolate(x, size=3), lambda: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    lambda: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    lambda: F.pixel_shuffle(torch.ones(1, 4, 1, 1), 2).shape, lambda: torch.clamp(x, 0, 1),
    lambda: torch.clamp(x, min=1), lambda: torch.clamp(x, 1, 0), lambda: x.clip(max=y), lambda: torch.lerp(x, x, 2),
    lambda: torch.maximum(x, y), lambda: torch.remainder(x, 0), lambda: torch.fmod(x, -3),
    lambda: torch.nan_to_num(x / 0), lambda: torch.div(x, 2, rounding_mode='floor'),
    lambda: torch.div(x, 2, rounding_mode='up'), lambda: torch.round(x * 1.26, decimals=1), lambda: torch.sqrt(n),
    lambda: torch.exp(b), lambda: torch.floor(n), lambda: torch.sign(x), lambda: torch.bucketize(x, y),
    lambda: torch.searchsorted(y, x), lambda: torch.allclose(x, x), lambda: torch.equal(x, y),
    lambda: torch.isclose(x, x + 1e-9))

print('in place')
say(lambda: x.clone().add_(torch.ones(3, 2, 2)), lambda: n.clone().add_(0.5), lambda: n.clone().div_(2),
    lambda: x.clone().mul_(2), lambda: x.clone().zero_(), lambda: x.clone().fill_(y), lambda: x.clone().fill_(2),
    lambda: x.clone().copy_(y), lambda: x.clone().copy_(n), lambda: b.clone().add_(1), lambda: x.clone().clamp_(0),
    lambda: x.clone().t_(), lambda: x.clone().squeeze_(), lambda: x.clone().masked_fill_(b, 9),
    lambda: x.clone().index_fill_(0, n[1:2], 5), lambda: x.clone().index_copy_(0, n[1:2], x[:1]),
    lambda: x.clone().scatter_(0, n[None, 1:], x), lambda: x.clone().resize_(1), lambda: x.clone().relu_())
