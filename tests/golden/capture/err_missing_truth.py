"""Whether something is there in a module that is not cannot be known."""
import torch
from transformers.utils import is_flash_attn_available

FLASH = is_flash_attn_available()


def err_missing_truth(x):
    return x * 2 if FLASH else x


def get_inputs():
    return [torch.randn(4)]
