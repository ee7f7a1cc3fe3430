"""How public models call PyTorch and numpy: sizes kept in tensors, inplace by its place, types as classes of tensors, a
function imported by the name of its module, arrays as indices, a parameter's data put back."""
import numpy as np
import torch
import torch.nn.utils.spectral_norm as spectral
from torch import nn
import torch.nn.functional as F

rows = 2


class Layers(nn.LSTM, nn.RNNBase):
    pass


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.rnn = spectral(nn.Conv1d(4, 4, 1)), Layers(4, 4, batch_first=True)
        self.taps = nn.Parameter(torch.randn(3, 4, 2))
        self.blur = torch.tensor((np.poly1d((0.5, 0.5)) ** 3).coeffs.astype(np.float32))
        self.order = np.squeeze(np.argwhere(np.array([0, 1, 1, 0])))
        self.bands = (2 ** torch.linspace(0, 2, 3)).numpy().tolist()
        og = np.ogrid[:4, 1:3]
        self.ramp = torch.from_numpy((1 - abs(og[0] - 1.5) / 2) * (1 - abs(og[1] - 0.5) / 2)).float()
        assert torch.randint(0, 2, (3,), dtype=torch.bool).dtype == torch.bool
        assert self.bands == [1.0, 2.0, 4.0] and self.blur.tolist() == [0.125, 0.375, 0.375, 0.125]
        assert self.ramp.tolist() == [[0.1875, 0.0625], [0.5625, 0.1875], [0.5625, 0.1875], [0.1875, 0.0625]]
        assert torch.linalg.det(torch.ones(3, 3)).item() == 0 and F._Reduction.get_enum('sum') == 2
        assert (np.mgrid[:2, :3].shape, np.resize(np.array([1, 2]), (3,)).tolist()) == ((2, 2, 3), [1, 2, 1])
        assert float(np.finfo(np.float32).eps) == 2.0 ** -23 and np.iinfo(np.int8).max == 127
        small = torch.tensor([200, 3, 100], dtype=torch.uint8)  # sums of it wrap around
        assert torch.trapezoid(small, torch.tensor([1, 9, 4], dtype=torch.uint8)).item() == 170.5
        assert torch.unravel_index(small, (20, 20))[0].tolist() == [10, 0, 5] and torch.unravel_index(small, (20, 20))[0].dtype == torch.int64
        square = small.reshape(1, 1, 3).expand(2, 3, 3)
        assert torch.addbmm(small, square, square).dtype == torch.uint8
        image = torch.full((1, 1, 2, 2), 250, dtype=torch.uint8)
        assert F.interpolate(image, size=(3, 3), mode='bicubic').unique().tolist() == [250]

    def forward(self, x):
        short = x[:, :3]
        wide = torch.tensor([x.size(1) - short.size(1)])
        same = F.pad(short, [0, 0, wide // 2, wide - wide // 2])
        assert isinstance(x.data, torch.FloatTensor) == (x.dtype == torch.float32) and not isinstance(x, torch.LongTensor)
        self.taps.data = self.taps.data
        y = x * self.bands[1]
        z = F.leaky_relu(y, 0.2, True) + y  # both are what was written
        a, b = torch.split(self.conv(x), split_size_or_sections=[1, 3], dim=1)
        return same, F.relu(z, True) + z, torch.cat([b, a], 1), self.rnn(x)[0], torch.conv_tbc(x, self.taps, self.taps[0, 0], 1), x[:, self.order], x @ self.ramp + self.blur[0]


def get_inputs():
    return [torch.randn(rows, 4, 4)]
