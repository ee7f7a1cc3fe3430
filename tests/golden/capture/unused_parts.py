"""What a module's body makes of modules that are not there, and forward does not use, is made of nothing: folders, too."""
import os
import pickle
import matplotlib
import torch
from mmcv.utils import Registry
from loguru import logger
from timm.models.layers import to_2tuple
from timm.models.registry import register_model

matplotlib.use('Agg')
logger.remove()
os.makedirs('images/train', exist_ok=True)
MODELS = Registry('models', scope=Registry.root)
TABLE = pickle.loads('')


class Kept:
    config = Registry.config['size']

    @MODELS.register()
    def train(self):
        return MODELS.build(TABLE)


@register_model
def unused_parts(x):
    return x * to_2tuple(3)[1]


def get_inputs():
    return [torch.randn(4)]
