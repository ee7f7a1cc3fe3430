"""A U-Net's level: down, through, up, and joined with what was passed over; GroupNorm and SiLU, a time embedding added to each."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 8
channels = 128
size = 64
groups = 32


def timestep_embedding(t, width):
    half = width // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(start=0, end=half, dtype=torch.float32, device=t.device) / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, inputs, outputs, embedding):
        super().__init__()
        self.in_layers = nn.Sequential(nn.GroupNorm(groups, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1))
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(embedding, outputs))
        self.out_layers = nn.Sequential(nn.GroupNorm(groups, outputs), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1))
        self.skip = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, emb):
        h = self.in_layers(x)
        h = h + self.emb_layers(emb)[..., None, None]
        return self.skip(x) + self.out_layers(h)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        wide = 4 * channels
        self.time = nn.Sequential(nn.Linear(channels, wide), nn.SiLU(), nn.Linear(wide, wide))
        self.enter = ResBlock(channels, channels, wide)
        self.down = nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1)
        self.middle = nn.ModuleList([ResBlock(2 * channels, 2 * channels, wide) for _ in range(2)])
        self.up = nn.Conv2d(2 * channels, channels, 3, padding=1)
        self.leave = ResBlock(2 * channels, channels, wide)

    def forward(self, x, t):
        emb = self.time(timestep_embedding(t, channels).to(x.dtype))
        kept = self.enter(x, emb)
        h = self.down(kept)
        for block in self.middle:
            h = block(h, emb)
        h = self.up(F.interpolate(h, scale_factor=2, mode="nearest"))
        return self.leave(torch.cat([h, kept], dim=1), emb)


def get_inputs():
    return [torch.randn(batch, channels, size, size), torch.randint(0, 1000, (batch,))]


def get_init_inputs():
    return []
