#!/usr/bin/env python3
"""How far products in f32 are off: ours, PyTorch's, and one sum after the other, over depths and kinds of data.

    scripts/bench_product_errors.py --device cpu --out product_errors.csv [--least 6] [--most 19] [--only 'normal|wide'] [--size 64]

Each case is a workload made on the spot, the product of (size, depth) and (depth, size): `warpsmith run --save` computes it and
hands over its factors, of which the exact product is taken in f64, PyTorch's on the same device (TF32 off), where there is
PyTorch, and that of a loop over the depth of one f32 fused multiply-add. Errors are in units of u sum|terms| (u = 2^-24; half
an ulp of the result where that is more), of the element that is furthest off. A row is ok if ours is at most the loop's and at
most 1.5 times PyTorch's, and if what is no finite number is the same as PyTorch's, or the loop's, in kind and place.
--least, --most: log2 of the depths, which grow by 2^3 from the least on; the last is 2^most. --config: of our product,
instead of the default. $WARPSMITH (build/warpsmith) is run.
Exit codes: 0 all ok, 1 a row is not, 2 usage, 3 no warpsmith."""

import datetime
import re
import sys
import tempfile

import numpy

import save_run

DATA = {
    "normal": ("torch.randn(m, k)", "torch.randn(k, m)"),
    "uniform": ("torch.rand(m, k)", "torch.rand(k, m)"),
    "wide": ("torch.exp2(torch.randn(m, k) * 8) * torch.randn(m, k)", "torch.exp2(torch.randn(k, m) * 8) * torch.randn(k, m)"),
    "cancelling": ("torch.rand(m, k) + 1", "(torch.rand(k, m) * 2**-12 + 1) * (1 - 2 * (torch.arange(k) % 2)).reshape(k, 1)"),
    "denormal": ("torch.randn(m, k) * 2.0**-135", "torch.randn(k, m)"),
    "nonfinite": ("torch.where(torch.rand(m, k) * k < 0.05, float('inf'), torch.randn(m, k))",
                  "torch.where(torch.rand(k, m) * k < 0.05, float('nan'), torch.randn(k, m))"),
}
U = 2.0 ** -24
COLUMNS = ["device", "data", "size", "depth", "error", "loop_error", "torch_error", "same_kinds", "ok", "torch", "date"]
WORKLOAD = """import torch
m = {size}
k = {depth}
def f(x, y):
    return x @ y
def get_inputs():
    return [{x}, {y}]
"""


def depths(least, most):
    return [*range(least, most, 3), most]


def loop(x, y):
    """One f32 sum after the other, of products that are not rounded."""
    total = numpy.zeros((len(x), y.shape[1]), numpy.float32)
    x, y = x.T.astype(numpy.float64).copy(), y.astype(numpy.float64)
    for left, right in zip(x, y):
        total = (left[:, None] * right + total).astype(numpy.float32)
    return total


def units(got, exact, absolute):
    half = numpy.maximum(numpy.spacing(abs(exact).astype(numpy.float32)).astype(numpy.float64), 2.0 ** -149) / 2
    error = abs(got.astype(numpy.float64) - exact) / numpy.maximum(U * absolute, half)
    return float(numpy.max(error[numpy.isfinite(exact)], initial=0))


def kinds(x):
    return numpy.where(numpy.isnan(x), 3, numpy.where(numpy.isposinf(x), 2, numpy.where(numpy.isneginf(x), 1, 0)))


def main():
    parser = save_run.arguments(__doc__, 19)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--least", type=int, default=6)
    parser.add_argument("--config")
    given = parser.parse_args()
    warpsmith = save_run.warpsmith("bench_product_errors")
    if not warpsmith:
        return 3
    torch, place, name = save_run.torch_and_place(given.device)
    rows = []
    with tempfile.TemporaryDirectory() as folder, numpy.errstate(all="ignore"):
        for data in DATA:
            if not re.search(given.only, data):
                continue
            for power in depths(given.least, given.most):
                text = WORKLOAD.format(size=given.size, depth=1 << power, x=DATA[data][0], y=DATA[data][1])
                x, y, got = save_run.run(warpsmith, folder, given.device, text, ("x", "y", "out0"), f"{data} {1 << power}",
                                         ["--config", given.config] if given.config else [])
                wide = x.astype(numpy.float64), y.astype(numpy.float64)
                exact, absolute = wide[0] @ wide[1], abs(wide[0]) @ abs(wide[1])
                one = loop(x, y)
                theirs = (torch.from_numpy(x).to(place) @ torch.from_numpy(y).to(place)).cpu().numpy() if torch else one
                error, of_loop, of_torch = (units(z, exact, absolute) for z in (got, one, theirs))
                same = bool((kinds(got) == kinds(theirs)).all())
                ok = same and error <= of_loop and (not torch or error <= 1.5 * of_torch)
                rows.append([name, data, given.size, 1 << power, f"{error:.3g}", f"{of_loop:.3g}", f"{of_torch:.3g}" if torch else "",
                             int(same), int(ok), torch.__version__ if torch else "", f"{datetime.date.today()}"])
    return save_run.report("bench_product_errors", given.out, COLUMNS, rows, name)


if __name__ == "__main__":
    sys.exit(main())
