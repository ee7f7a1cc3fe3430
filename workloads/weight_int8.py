"""Linear layer whose weight (columns, inner) is int8 with a scale for each column: x (rows, inner) in bfloat16 times its
transpose. Of few rows what takes time is to read the weight. 2*rows*inner*columns flops; moves inner*columns bytes, and
2*rows*(inner + columns)."""
import torch

rows = 16
inner = 4096
columns = 11008


def weight_int8(x, weight, scale):
    return x @ (weight.to(torch.bfloat16) * scale).t()


def get_inputs():
    weight = torch.randint(-128, 128, (columns, inner), dtype=torch.int8)
    scale = (torch.rand(columns, 1) / 128).to(torch.bfloat16)
    return [torch.randn(rows, inner, dtype=torch.bfloat16), weight, scale]
