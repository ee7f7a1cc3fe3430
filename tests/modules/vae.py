import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    """A variational auto-encoder at its mean: reconstruction and divergence."""
    def __init__(self, dim, latent):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 32), nn.Tanh())
        self.mu, self.logvar = nn.Linear(32, latent), nn.Linear(32, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.Tanh(), nn.Linear(32, dim), nn.Sigmoid())

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        reconstruction = self.decoder(mu)
        divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1)
        return reconstruction, divergence.mean()


def get_inputs():
    return [torch.rand(rows, 18)]


def get_init_inputs():
    return [18, 5]
