"""int8, uint8 and int16: rows that are quantised and read again, pixels, bits that are cut off, and sums."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('mean', torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1))
        self.register_buffer('steps', torch.tensor([1, 2, 3], dtype=torch.int16))

    def forward(self, x, q, image, y):
        scale = x.abs().amax(dim=-1, keepdim=True) / torch.iinfo(torch.int8).max
        rows = (x / scale).round().clamp(-128, 127).to(torch.int8)
        back = rows.float() * scale + q * 0.5
        pixels = image.float() / 255 - self.mean
        dark = image < 100
        wrapped = image + 200
        both = q + image[0, 0, :4, :16]
        return (rows, scale, back, pixels, dark, wrapped, both, q * q, -image, ~q, q.sum(-1), image.amax((2, 3)),
                y.short() * self.steps, y.char(), y.byte(), q.argmax(1), torch.cat([q, rows]), image.to(torch.int16) - 300)


def get_inputs():
    return [torch.randn(4, 16), torch.randint(-128, 128, (4, 16), dtype=torch.int8),
            torch.randint(0, 256, (2, 3, 5, 16), dtype=torch.uint8), torch.randint(-70000, 70000, (9, 3))]
