# options: --dtype f16
"""Random tensors in forward have streams of their own, behind those of the inputs."""
import torch


def random(x):
    noise = torch.rand_like(x)
    y = torch.zeros(4, dtype=x.dtype, device=x.device)
    y += x
    y.mul_(2)
    mask = torch.rand(4) > 0.5
    return torch.where(mask, y, noise), ~mask, x.float().var(unbiased=False), abs(-x) ** 2, 1 - x


def get_inputs():
    torch.manual_seed(0)
    return [torch.randn(4, device=torch.device("cuda:0")).to("cuda")]
