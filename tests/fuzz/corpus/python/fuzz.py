import torch, math
from functools import partial

table = {"a": [1, 2.5, None], 'b': (True, "x" * 3)}
rows = len(table) * 2

def fuzz(x, scale=math.sqrt(4.0)):
    try:
        if not x.shape[0] % 2 == 0:
            raise ValueError(f"{x.shape!r:>10} {scale:.2f}")
        y = x.relu() if scale > 1 else -x
    except (ValueError, TypeError) as e:
        y = x
    finally:
        z = y[:, None, 1:] @ torch.ones(3, 2)
    return [partial(torch.add, z)(1.0), {"k": z.t() if z.dim() == 2 else z}]

def get_inputs():
    return [torch.arange(rows * 4).reshape(rows, 4).float()]
