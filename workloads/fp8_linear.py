"""Linear layer of float8_e4m3fn: x (rows, inner) times the transpose of weight (columns, inner), summed up in float32, with
a scale for each row of x and one for each column, as bfloat16. 2*rows*inner*columns flops; moves rows*inner +
inner*columns bytes, and 2*rows*columns."""
import torch

rows = 4096
inner = 4096
columns = 4096


def fp8_linear(x, weight, x_scale, weight_scale):
    return torch._scaled_mm(x, weight.t(), x_scale, weight_scale, out_dtype=torch.bfloat16)


def get_inputs():
    x = torch.randn(rows, inner).to(torch.float8_e4m3fn)
    weight = torch.randn(columns, inner).to(torch.float8_e4m3fn)
    return [x, weight, torch.rand(rows, 1) + 0.5, torch.rand(1, columns) + 0.5]
