"""timm.layers, and what timm.models has under other names: the parts that published vision models are made of."""
import math
import torch
from collections.abc import Iterable
from functools import partial
from torch import nn
from torch.nn import functional as F
from torch.nn.init import trunc_normal_, _calculate_fan_in_and_fan_out
from later import of as _later


def __getattr__(name):
    return _later('timm.layers', name)


def to_ntuple(n):
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) and not isinstance(x, str) else (x,) * n
    return parse


to_1tuple, to_2tuple, to_3tuple, to_4tuple = [to_ntuple(n) for n in (1, 2, 3, 4)]


def _assert(condition, message):
    assert condition, message


def make_divisible(v, divisor=8, min_value=None, round_limit=.9):
    new = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return new + divisor if new < round_limit * v else new


def use_fused_attn(experimental=False):
    return True


# -- initial values


def trunc_normal_tf_(tensor, mean=0., std=1., a=-2., b=2.):
    """The bounds are those of the normal distribution before it is scaled."""
    with torch.no_grad():
        trunc_normal_(tensor, 0., 1., a, b)
        return tensor.mul_(std).add_(mean)


def variance_scaling_(tensor, scale=1.0, mode='fan_in', distribution='normal'):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    variance = scale / {'fan_in': fan_in, 'fan_out': fan_out, 'fan_avg': (fan_in + fan_out) / 2}[mode]
    if distribution == 'truncated_normal':
        return trunc_normal_tf_(tensor, std=math.sqrt(variance) / .87962566103423978)
    if distribution == 'normal':
        return nn.init.normal_(tensor, std=math.sqrt(variance))
    bound = math.sqrt(3 * variance)
    return nn.init.uniform_(tensor, -bound, bound)


def lecun_normal_(tensor):
    return variance_scaling_(tensor, mode='fan_in', distribution='truncated_normal')


# -- layers


def drop_path(x, drop_prob=0., training=False, scale_by_keep=True):
    """Whole samples become 0."""
    if drop_prob == 0. or not training:
        return x
    keep = 1 - drop_prob
    mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
    if keep > 0.0 and scale_by_keep:
        mask.div_(keep)
    return x * mask


class DropPath(nn.Module):
    def __init__(self, drop_prob=0., scale_by_keep=True):
        super().__init__()
        self.drop_prob, self.scale_by_keep = drop_prob, scale_by_keep

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training, self.scale_by_keep)


def _mlp_parts(self, width, middle, out, act_layer, norm_layer, bias, drop, use_conv, halves):
    linear, bias, drop = partial(nn.Conv2d, kernel_size=1) if use_conv else nn.Linear, to_2tuple(bias), to_2tuple(drop)
    self.fc1 = linear(width, middle, bias=bias[0])
    self.act = act_layer()
    self.drop1 = nn.Dropout(drop[0])
    self.norm = norm_layer(middle // halves) if norm_layer is not None else nn.Identity()
    self.fc2 = linear(middle // halves, out, bias=bias[1])
    self.drop2 = nn.Dropout(drop[1])


class Mlp(nn.Module):
    def __init__(self, in_features, hidden_features=None, out_features=None, act_layer=nn.GELU, norm_layer=None, bias=True,
                 drop=0., use_conv=False, device=None, dtype=None):
        super().__init__()
        _mlp_parts(self, in_features, hidden_features or in_features, out_features or in_features, act_layer, norm_layer,
                   bias, drop, use_conv, 1)

    def forward(self, x):
        return self.drop2(self.fc2(self.norm(self.drop1(self.act(self.fc1(x))))))


class GluMlp(nn.Module):
    def __init__(self, in_features, hidden_features=None, out_features=None, act_layer=nn.Sigmoid, norm_layer=None, bias=True,
                 drop=0., use_conv=False, gate_last=True, device=None, dtype=None):
        super().__init__()
        self.chunk_dim, self.gate_last = 1 if use_conv else -1, gate_last
        _mlp_parts(self, in_features, hidden_features or in_features, out_features or in_features, act_layer, norm_layer,
                   bias, drop, use_conv, 2)

    def forward(self, x):
        a, b = self.fc1(x).chunk(2, dim=self.chunk_dim)
        x = a * self.act(b) if self.gate_last else self.act(a) * b
        return self.drop2(self.fc2(self.norm(self.drop1(x))))


SwiGLUPacked = partial(GluMlp, act_layer=nn.SiLU, gate_last=False)


class LayerNorm2d(nn.LayerNorm):
    """Over the channels of an image."""

    def __init__(self, num_channels, eps=1e-6, affine=True, **kwargs):
        super().__init__(num_channels, eps=eps, elementwise_affine=affine, **kwargs)

    def forward(self, x):
        x = F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class PatchEmbed(nn.Module):
    def __init__(self, img_size=224, patch_size=16, in_chans=3, embed_dim=768, norm_layer=None, flatten=True, output_fmt=None,
                 bias=True, strict_img_size=True, dynamic_img_pad=False, device=None, dtype=None):
        super().__init__()
        if output_fmt not in (None, 'NCHW') or dynamic_img_pad:
            from _warpsmith import refuse
            refuse('timm.layers.PatchEmbed with output_fmt or dynamic_img_pad is not supported')
        self.patch_size = to_2tuple(patch_size)
        self.img_size = self.grid_size = self.num_patches = None
        if img_size is not None:
            self.img_size = to_2tuple(img_size)
            self.grid_size = tuple([s // p for s, p in zip(self.img_size, self.patch_size)])
            self.num_patches = self.grid_size[0] * self.grid_size[1]
        self.flatten, self.strict_img_size = flatten and output_fmt is None, strict_img_size
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size, bias=bias)
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()

    def forward(self, x):
        for name, size, whole, patch in zip(('height', 'width'), x.shape[2:], self.img_size or (None, None), self.patch_size):
            if whole is not None and self.strict_img_size:
                assert size == whole, f"Input {name} ({size}) doesn't match model ({whole})."
            elif whole is not None:
                assert size % patch == 0, f'Input {name} ({size}) should be divisible by patch size ({patch}).'
        x = self.proj(x)
        return self.norm(x.flatten(2).transpose(1, 2) if self.flatten else x)


class LayerScale(nn.Module):
    def __init__(self, dim, init_values=1e-5, inplace=False, device=None, dtype=None):
        super().__init__()
        self.inplace = inplace
        self.gamma = nn.Parameter(torch.full((dim,), init_values))

    def forward(self, x):
        return x.mul_(self.gamma) if self.inplace else x * self.gamma


class Attention(nn.Module):
    def __init__(self, dim, num_heads=8, qkv_bias=False, qk_norm=False, scale_norm=False, proj_bias=True, attn_drop=0.,
                 proj_drop=0., norm_layer=None, device=None, dtype=None):
        super().__init__()
        assert dim % num_heads == 0, 'dim should be divisible by num_heads'
        self.num_heads, self.head_dim, self.scale = num_heads, dim // num_heads, (dim // num_heads) ** -0.5
        self.fused_attn = use_fused_attn()
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.q_norm = norm_layer(self.head_dim) if qk_norm else nn.Identity()
        self.k_norm = norm_layer(self.head_dim) if qk_norm else nn.Identity()
        self.attn_drop = nn.Dropout(attn_drop)
        self.norm = norm_layer(dim) if scale_norm else nn.Identity()
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x, attn_mask=None):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4).unbind(0)
        q, k = self.q_norm(q) * self.scale, self.k_norm(k)
        scores = q @ k.transpose(-2, -1)
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
        x = self.attn_drop(scores.softmax(dim=-1)) @ v
        return self.proj_drop(self.proj(self.norm(x.transpose(1, 2).reshape(b, n, c))))


class Block(nn.Module):
    def __init__(self, dim, num_heads, mlp_ratio=4., qkv_bias=False, qk_norm=False, proj_drop=0., attn_drop=0., init_values=None,
                 drop_path=0., act_layer=nn.GELU, norm_layer=nn.LayerNorm, mlp_layer=Mlp, **rest):
        super().__init__()
        for name in rest:
            raise TypeError(f"Block.__init__() got an unexpected keyword argument '{name}'")
        self.norm1 = norm_layer(dim)
        self.attn = Attention(dim, num_heads, qkv_bias, qk_norm, attn_drop=attn_drop, proj_drop=proj_drop, norm_layer=norm_layer)
        self.ls1 = LayerScale(dim, init_values) if init_values else nn.Identity()
        self.drop_path1 = DropPath(drop_path) if drop_path > 0. else nn.Identity()
        self.norm2 = norm_layer(dim)
        self.mlp = mlp_layer(dim, int(dim * mlp_ratio), act_layer=act_layer, drop=proj_drop)
        self.ls2 = LayerScale(dim, init_values) if init_values else nn.Identity()
        self.drop_path2 = DropPath(drop_path) if drop_path > 0. else nn.Identity()

    def forward(self, x, attn_mask=None):
        x = x + self.drop_path1(self.ls1(self.attn(self.norm1(x), attn_mask)))
        return x + self.drop_path2(self.ls2(self.mlp(self.norm2(x))))


# -- what a registry asks for


def register_model(function):
    return function


register_notrace_module = register_notrace_function = register_model
IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
IMAGENET_INCEPTION_MEAN = IMAGENET_INCEPTION_STD = (0.5, 0.5, 0.5)


def _cfg(url='', **kwargs):
    return {'url': url, 'num_classes': 1000, 'input_size': (3, 224, 224), 'pool_size': None, 'crop_pct': .9,
            'interpolation': 'bicubic', 'mean': IMAGENET_INCEPTION_MEAN, 'std': IMAGENET_INCEPTION_STD, **kwargs}
