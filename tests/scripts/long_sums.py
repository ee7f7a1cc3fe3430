"""Sums of half a million floats and more: no further from the exact ones than PyTorch 2.11's on a CPU, which are given
in units of 2**-24 of the result."""
import torch

x = torch.full((2, 8, 514, 514), 0.1)
value = x.double().flatten()[0].item()
rows = 2 * 514 * 514


def check(name, got, exact, most):
    error = abs(got.double().flatten()[0].item() - exact) / exact * 2**24
    assert error <= most + 0.01, f"{name}: {error:.2f} units from {exact}; PyTorch's is {most}"


@torch.compile
def sums(x):
    return x.sum(dim=(0, 2, 3)), x.mean(dim=(0, 2, 3)), x.sum(), x.flatten(1).sum(1)


of_channels, mean, everything, of_images = sums(x)
check("sum of channels", of_channels, value * rows, 1.99)
check("mean", mean, value, 2.5)
check("sum", everything, value * rows * 8, 3.23)
check("sum of images", of_images, value * rows * 4, 3.23)

bias = torch.zeros(8, requires_grad=True)
torch.compile(lambda x, b: (x + b[:, None, None]).mean(dim=(2, 3)))(x, bias).backward(torch.ones(2, 8))
check("gradient of a bias", bias.grad, 2.0, 4.0)

weight = torch.zeros(8, requires_grad=True)
torch.compile(lambda x, w: (x * w[:, None, None]).sum())(x, weight).backward()
check("gradient of a weight", weight.grad, value * rows, 1.99)

# A carry loses nothing, however long the row is; nor does what is infinite become no number.
prefixes = torch.compile(lambda x: x.cumsum(0))(x.flatten())
check("last prefix", prefixes[-1:], value * rows * 8, 1)
late = torch.zeros(1000)
late[700] = float("inf")
prefixes = torch.compile(lambda x: x.cumsum(0))(late)
assert prefixes[699].item() == 0 and prefixes[700].item() == prefixes[999].item() == float("inf")

# All of it lands on one row.
landed = torch.compile(lambda i, s: torch.zeros(64, 8).index_add(0, i, s))(
    torch.zeros(100000, dtype=torch.int64), torch.full((100000, 8), 0.1))
check("what lands on a row", landed, value * 100000, 16)

# A deep product.
product = torch.compile(torch.mm)(torch.full((16, 100000), 0.1), torch.full((100000, 16), 0.5))
check("product", product, value * 50000, 32)
