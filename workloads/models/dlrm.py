"""A recommender: bags of sparse features are summed, dense ones go through layers, every pair of them is multiplied. -> (batch, 1)"""
import torch
import torch.nn as nn

batch = 2048
dense = 13
tables = 8
rows = 100000
width = 64
bag = 4


def mlp(sizes, last):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1], bias=True))
        layers.append(last if i == len(sizes) - 2 else nn.ReLU())
    return nn.Sequential(*layers)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bottom = mlp([dense, 512, 256, width], nn.ReLU())
        self.embeddings = nn.ModuleList([nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables)])
        pairs = (tables + 1) * tables // 2
        self.top = mlp([width + pairs, 512, 256, 1], nn.Sigmoid())
        offset = torch.tril_indices(tables + 1, tables + 1, offset=-1)
        self.register_buffer("li", offset[0])
        self.register_buffer("lj", offset[1])

    def forward(self, x, sparse):
        x = self.bottom(x)
        looked_up = [table(sparse[i]) for i, table in enumerate(self.embeddings)]
        t = torch.cat([x] + looked_up, dim=1).view(x.shape[0], -1, x.shape[1])
        z = torch.bmm(t, t.transpose(1, 2))
        flat = z[:, self.li, self.lj]
        return self.top(torch.cat([x, flat], dim=1))


def get_inputs():
    return [torch.randn(batch, dense), torch.randint(0, rows, (tables, batch, bag))]


def get_init_inputs():
    return []
