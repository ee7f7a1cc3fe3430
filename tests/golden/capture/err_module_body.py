import torch

x = torch.randn(3)
if x.sum() > 0:
    y = 1
