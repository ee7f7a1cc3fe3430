"""einops: patterns as reshape, permute and reduce.

    rearrange(x, 'b (h w) c -> b c h w', h=2)     x.reshape(b, 2, w, c).permute(0, 3, 1, 2)
"""
import math

import torch


class EinopsError(RuntimeError):
    pass


def _groups(side, hidden, which=''):
    """'b (h w) 1 ...' -> [['b'], ['h', 'w'], [], ['.0'], ['.1']]: the axes of each dimension. A number is an axis that no
    other one is: '(h 2)' -> [['h', '2:0']], of a size that stands in its name."""
    groups, inside, numbers = [], None, 0
    for token in side.replace('(', ' ( ').replace(')', ' ) ').split():
        if token == '(':
            inside = []
        elif token == ')':
            groups.append(inside)
            inside = None
        elif token == '...':
            if inside is None:
                groups += [[f'.{i}'] for i in range(hidden)]
            else:
                inside += [f'.{i}' for i in range(hidden)]
        elif token == '1':
            if inside is None:
                groups.append([])
        else:
            if token.isdigit():
                token, numbers = f'{token}:{which}{numbers}', numbers + 1
            if inside is None:
                groups.append([token])
            else:
                inside.append(token)
    return groups


def _with_numbers(given, axes):
    """The sizes that are given, and those of axes that are numbers."""
    return {**given, **{axis: int(axis.partition(':')[0]) for axis in axes if ':' in axis}}


def _sizes(x, groups, given, pattern):
    size = dict(given)
    if len(groups) != x.ndim:
        raise EinopsError(f"'{pattern}' names {len(groups)} dimensions, the tensor has {list(x.shape)}")
    for group, n in zip(groups, x.shape):
        open_axes = [axis for axis in group if axis not in size]
        known = math.prod([size[axis] for axis in group if axis in size])
        if len(open_axes) > 1:
            raise EinopsError(f"'{pattern}' does not say the sizes of {open_axes}")
        if n % known or (not open_axes and n != known):
            raise EinopsError(f"'{pattern}' cannot divide a dimension of {n} by {known}")
        for axis in open_axes:
            size[axis] = n // known
    return size


def _flat(groups):
    return [axis for group in groups for axis in group]


def _apply(x, pattern, given, reduction):
    if isinstance(x, (list, tuple)):
        x = torch.stack(list(x))
    left, _, right = pattern.partition('->')
    hidden = x.ndim - len(_groups(left.replace('...', ''), 0)) if '...' in left else 0
    left, right = _groups(left, hidden, 'left'), _groups(right, hidden, 'right')
    before, after = _flat(left), _flat(right)
    given = _with_numbers(given, before + after)
    size = _sizes(x, left, {k: v for k, v in given.items() if k in before}, pattern)
    x = x.reshape([size[axis] for axis in before])
    lost = [i for i, axis in enumerate(before) if axis not in after]
    if lost:
        if reduction is None:
            raise EinopsError(f"'{pattern}' loses axes; reduce() takes a reduction")
        x = reduction(x, lost)
        before = [axis for axis in before if axis in after]
    for axis in after:
        if axis not in before:
            if axis not in given:
                raise EinopsError(f"'{pattern}' does not say the size of '{axis}'")
            size[axis] = given[axis]
            x = x.unsqueeze(-1).expand(list(x.shape) + [given[axis]])
            before = before + [axis]
    x = x.permute([before.index(axis) for axis in after])
    return x.reshape([math.prod([size[axis] for axis in group]) for group in right])


def rearrange(tensor, pattern, **axes_lengths):
    return _apply(tensor, pattern, axes_lengths, None)


repeat = rearrange

_reductions = {
    'mean': lambda x, dims: x.mean(dims),
    'sum': lambda x, dims: x.sum(dims),
    'max': lambda x, dims: x.amax(dims),
    'min': lambda x, dims: x.amin(dims),
    'any': lambda x, dims: x.any(dims),
    'all': lambda x, dims: x.all(dims),
    'prod': lambda x, dims: x.movedim(dims, list(range(len(dims)))).flatten(0, len(dims) - 1).prod(0),
}


def reduce(tensor, pattern, reduction, **axes_lengths):
    if reduction in ('rearrange', 'repeat'):  # einops' own words for what reduces nothing
        return _apply(tensor, pattern, axes_lengths, None)
    if isinstance(reduction, str):
        if reduction not in _reductions:
            raise EinopsError(f"unknown reduction '{reduction}'")
        reduction = _reductions[reduction]
    return _apply(tensor, pattern, axes_lengths, reduction)


def einsum(*args):
    """Operands first, names of more than one letter."""
    pattern, letters = args[-1], {}
    for name in pattern.replace('->', ' ').replace(',', ' ').split():
        if name != '...' and name not in letters:
            letters[name] = 'abcdefghijklmnopqrstuvwxyz'[len(letters)]
    left, _, right = pattern.partition('->')
    short = lambda term: ''.join([letters.get(name, name) for name in term.split()])
    return torch.einsum(','.join([short(term) for term in left.split(',')]) + '->' + short(right), *args[:-1])


def _around_star(pattern):
    """'b * d' -> 1, 1: how many dimensions are named before it and behind."""
    names = pattern.split()
    if names.count('*') != 1:
        raise EinopsError(f"'{pattern}' has no single *")
    before = names.index('*')
    return before, len(names) - 1 - before


def pack(tensors, pattern):
    """Each with one dimension for those at *, one behind the other; and what was there."""
    before, after = _around_star(pattern)
    parts, shapes = [], []
    for x in tensors:
        if x.ndim < before + after:
            raise EinopsError(f"'{pattern}' names {before + after} dimensions, the tensor has {list(x.shape)}")
        end = x.ndim - after
        shapes.append(x.shape[before:end])
        parts.append(x.reshape([*x.shape[:before], math.prod(x.shape[before:end]), *x.shape[end:]]))
    return torch.cat(parts, before), shapes


def unpack(tensor, packed_shapes, pattern):
    before, after = _around_star(pattern)
    if tensor.ndim != before + 1 + after:
        raise EinopsError(f"'{pattern}' names {before + 1 + after} dimensions, the tensor has {list(tensor.shape)}")
    sizes = [-1 if -1 in shape else math.prod(shape) for shape in packed_shapes]
    if -1 in sizes:
        sizes[sizes.index(-1)] = tensor.shape[before] - sum(sizes) - 1
    head, tail = tensor.shape[:before], tensor.shape[before + 1:]
    return [x.reshape([*head, *shape, *tail]) for x, shape in zip(tensor.split(sizes, before), packed_shapes)]


def parse_shape(x, pattern):
    groups = _groups(pattern, x.ndim - len(pattern.split()) + 1)
    if len(groups) != x.ndim:
        raise EinopsError(f"Can't parse shape with different number of dimensions: {pattern} {list(x.shape)}")
    return {group[0]: n for group, n in zip(groups, x.shape) if len(group) == 1 and group[0].strip('_.') and group[0][0] != '.'}
