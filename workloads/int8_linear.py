"""Linear layer of int8: x (rows, inner) times the transpose of weight (columns, inner), both int8, summed up in int32; a
scale for each row of x and one for each column make bfloat16 of it, and a bias is added. 2*rows*inner*columns operations;
moves rows*inner + inner*columns bytes, and 2*rows*columns."""
import torch

rows = 4096
inner = 4096
columns = 4096


def int8_linear(x, weight, x_scale, weight_scale, bias):
    sums = torch._int_mm(x, weight.t())
    return (sums * x_scale * weight_scale).to(torch.bfloat16) + bias


def get_inputs():
    x = torch.randint(-128, 128, (rows, inner), dtype=torch.int8)
    weight = torch.randint(-128, 128, (columns, inner), dtype=torch.int8)
    return [x, weight, torch.rand(rows, 1) / 128, torch.rand(columns) / 128, torch.randn(columns, dtype=torch.bfloat16)]
