"""A vision transformer's block of parts that published models take from timm."""
import torch
import torch.nn as nn
from timm.data import IMAGENET_DEFAULT_MEAN
from timm.models.layers import DropPath, Mlp, to_2tuple, trunc_normal_
from timm.models.registry import register_model
from timm.models.vision_transformer import Attention, Block, PatchEmbed, _cfg


class Net(nn.Module):
    def __init__(self, size=16, patch=8, dim=16, heads=2, classes=3):
        super().__init__()
        self.patches = PatchEmbed(size, to_2tuple(patch), 3, dim, norm_layer=nn.LayerNorm)
        self.position = nn.Parameter(torch.zeros(1, self.patches.num_patches, dim))
        trunc_normal_(self.position, std=.02)
        self.norm, self.attention = nn.LayerNorm(dim), Attention(dim, num_heads=heads, qkv_bias=True)
        self.mlp, self.drop = Mlp(dim, 2 * dim, act_layer=nn.GELU), DropPath(0.0)
        self.block = Block(dim, heads, qkv_bias=True, init_values=0.1)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patches(x - x.new_tensor(IMAGENET_DEFAULT_MEAN).view(1, 3, 1, 1)) + self.position
        x = x + self.drop(self.mlp(self.attention(self.norm(x))))
        return self.head(self.block(x).mean(1))


@register_model
def tiny(pretrained=False, **kwargs):
    model = Net(**kwargs)
    model.default_cfg = _cfg()
    return model


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = tiny()

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.randn(2, 3, 16, 16)]
