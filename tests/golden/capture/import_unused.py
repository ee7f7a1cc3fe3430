"""What is not there may be imported, if it is not used; who is ready for an ImportError gets it."""
import logging
import ast
import yaml
import matplotlib.pyplot as plt
import torch
from PIL import Image
from lightning import Trainer as Train, seed_everything
from .helpers import plot
from torch.distributed import init_process_group, is_initialized

try:
    import flash_attn
except ImportError:
    flash_attn = None


def show(x):
    plt.imshow(x)
    return Image.fromarray(x), Train(yaml.safe_load(x)), plot(x)


def import_unused(x):
    if is_initialized():
        init_process_group()
    return x * 2 if flash_attn is None else flash_attn(x)


def get_inputs():
    return [torch.randn(4)]
