"""einops.layers.torch: patterns as modules."""
import torch
import torch.nn as nn
import einops


class Rearrange(nn.Module):
    def __init__(self, pattern, **axes_lengths):
        super().__init__()
        self.pattern, self.axes_lengths = pattern, axes_lengths

    def forward(self, x):
        return einops.rearrange(x, self.pattern, **self.axes_lengths)


class Reduce(nn.Module):
    def __init__(self, pattern, reduction, **axes_lengths):
        super().__init__()
        self.pattern, self.reduction, self.axes_lengths = pattern, reduction, axes_lengths

    def forward(self, x):
        return einops.reduce(x, self.pattern, self.reduction, **self.axes_lengths)


class EinMix(nn.Module):
    """A product with a weight, and a bias, of named axes: 'b n d -> b n (h k)', weight_shape='d h k', bias_shape='h k'."""

    def __init__(self, pattern, weight_shape, bias_shape=None, **axes_lengths):
        super().__init__()
        self.pattern, self.weight_shape, self.bias_shape = pattern, weight_shape, bias_shape
        self.axes_lengths = axes_lengths
        left, right = [side.strip() for side in pattern.split('->')]
        flat = [' '.join(side.replace('(', ' ').replace(')', ' ').split()) for side in (left, right)]
        mixed, made = [side.split() for side in flat]
        of_weight = weight_shape.split()
        for axis in of_weight:
            if axis not in axes_lengths:
                raise einops.EinopsError(f'Dimension {axis} of weight should be specified')
            if axis not in mixed + made:
                raise einops.EinopsError(f"Weight axes {{'{axis}'}} are redundant")
        self._before = f'{left} -> {flat[0]}' if '(' in left else None
        self._behind = f'{flat[1]} -> {right}' if '(' in right else None
        self._product = f'{flat[0]}, {weight_shape} -> {flat[1]}'
        self._lengths = {axis: n for axis, n in axes_lengths.items() if axis in mixed}
        fan_in = 1
        for axis in of_weight:
            fan_in *= 1 if axis in made else axes_lengths[axis]
        shape = [axes_lengths[axis] for axis in of_weight]
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-(3 / fan_in) ** 0.5, (3 / fan_in) ** 0.5))
        self.bias = None
        if bias_shape is not None:
            shape = [axes_lengths[axis] if axis in bias_shape.split() else 1 for axis in made if axis != '...']
            self.bias = nn.Parameter(torch.empty(shape).uniform_(-(1 / fan_in) ** 0.5, (1 / fan_in) ** 0.5))

    def forward(self, x):
        if self._before:
            x = einops.rearrange(x, self._before, **self._lengths)
        x = einops.einsum(x, self.weight, self._product)
        if self.bias is not None:
            x = x + self.bias
        return einops.rearrange(x, self._behind, **self._sizes(x)) if self._behind else x

    def _sizes(self, x):
        """Of the axes behind the product, those that are named."""
        names = self._behind.partition('->')[0].split()
        return {} if '...' in names else dict(zip(names, x.shape))
