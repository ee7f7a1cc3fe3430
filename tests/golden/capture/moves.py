import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """What moves elements: pieces, pads, subscripts by tensors and lists, windows."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 8, padding_idx=1)
        self.stem = nn.Sequential(nn.ReflectionPad2d(1), nn.MaxPool2d(3, stride=2), nn.AdaptiveAvgPool2d((None, 2)))

    def forward(self, x, i, image):
        rows, columns = torch.meshgrid(torch.arange(4), torch.arange(8), indexing='ij')
        cat = torch.cat((x, F.pad(x, (1, 0), value=1.5)), dim=1)
        taken = x[i] + x[..., i] .sum() + x[[0, -1]].sum() + x[0, None, i].mean()
        placed = x[rows, 7 - columns].scatter_add(0, i[:, None].expand(2, 8), self.table(i))
        hot = F.one_hot(i, num_classes=4) @ x.to(torch.int64)
        across, down = torch.meshgrid(i, torch.arange(3), indexing='xy')
        hot = hot + (across * down).sum(1, keepdim=True)[0]
        return cat, taken, placed.scatter(1, i[None], value=2.0), hot, self.stem(image), x.roll(2, 1).flip(0)


def get_inputs():
    return [torch.randn(4, 8), torch.randint(0, 4, (2,)), torch.randn(2, 5, 9, 10)]
