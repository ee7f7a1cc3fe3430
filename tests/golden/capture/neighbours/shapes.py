import torch

raise_here = False
