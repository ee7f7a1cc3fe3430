"""Linear layer whose weight (columns, inner) is of 4 bits, two in a byte, with a scale for each group along inner: x
(rows, inner) in bfloat16 times its transpose. Of few rows what takes time is to read the weight. 2*rows*inner*columns
flops; moves inner*columns/2 bytes, 2*inner*columns/group of scales, and 2*rows*(inner + columns)."""
import torch

rows = 16
inner = 4096
columns = 11008
group = 128


def weight_int4(x, packed, scale):
    low = (packed & 15).to(torch.int8) - 8
    high = (packed >> 4).to(torch.int8) - 8
    whole = torch.stack([low, high], -1).view(columns, inner // group, group)
    weight = (whole.to(torch.bfloat16) * scale.unsqueeze(-1)).view(columns, inner)
    return x @ weight.t()


def get_inputs():
    packed = torch.randint(0, 256, (columns, inner // 2), dtype=torch.uint8)
    scale = (torch.rand(columns, inner // group) / 8).to(torch.bfloat16)
    return [torch.randn(rows, inner, dtype=torch.bfloat16), packed, scale]
