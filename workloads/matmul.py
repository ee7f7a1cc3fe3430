"""Matrix product: x (rows, inner), y (inner, columns) -> (rows, columns), where x_t or y_t is 1 of what lies transposed in
memory. 2*rows*inner*columns flops; moves rows*inner + inner*columns + rows*columns elements."""
import torch

rows = 2048
inner = 2048
columns = 2048
x_t = 0
y_t = 0


def matmul(x, y):
    return (x.t() if x_t else x) @ (y.t() if y_t else y)


def get_inputs():
    x = torch.randn(inner, rows) if x_t else torch.randn(rows, inner)
    y = torch.randn(columns, inner) if y_t else torch.randn(inner, columns)
    return [x, y]
