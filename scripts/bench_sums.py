#!/usr/bin/env python3
"""How far sums in f32 are off: ours, PyTorch's, and the bound, over sizes and kinds of data.

    scripts/bench_sums.py --device cpu --out sums.csv [--most 22] [--only 'sum|dot']

Each case is a workload made on the spot: `warpsmith run --save` computes it and hands over its inputs, of which the exact
result is taken in extended precision, and PyTorch's on the same device, where there is PyTorch. Errors are in units of u sum|terms|
(u = 2^-24; half an ulp of the result where that is more); of cumsum and softmax, of the element that is furthest off. The
bound is 128 + log2 n: blocks of at most 128 terms, then a tree (Higham, Accuracy and Stability of Numerical Algorithms,
section 4.2). A row is ok if ours is within it, and within twice PyTorch's error or within two units.
--most: log2 of the most elements, which grow by 2^6 from 2^10 on, or from --least on. --only: a pattern of "sum normal",
an operator and its data. $WARPSMITH (build/warpsmith) is run.
Exit codes: 0 all ok, 1 a row is not, 2 usage, 3 no warpsmith."""

import datetime
import math
import re
import sys
import tempfile

import numpy

import save_run

OPERATORS = {
    "sum": "x.sum()", "mean": "x.mean()", "var": "x.var()", "norm": "torch.linalg.vector_norm(x)", "dot": "(x * x.flip(0)).sum()",
    "softmax": "torch.softmax(x, 0)", "cumsum": "x.cumsum(0)",
}
DATA = {
    "normal": "torch.randn(n)", "uniform": "torch.rand(n)", "constant": "torch.full((n,), 0.1)",
    "alternating": "torch.rand(n) * (1 - 2 * (torch.arange(n) % 2))", "wide": "torch.exp2(torch.randn(n) * 8) * torch.randn(n)",
}
U = 2.0 ** -24
CHUNK = 1 << 22
COLUMNS = ["device", "op", "data", "n", "error", "torch_error", "bound", "ok", "torch", "date"]
WORKLOAD = """import torch
n = {n}
def f(x):
    return {operator}
def get_inputs():
    return [{data}]
"""


def chunks_of(n):
    """Pieces of an array which extended precision makes four times as large."""
    return [slice(i, min(n, i + CHUNK)) for i in range(0, n, CHUNK)]


def total(x, term):
    return sum((term(x[c].astype(numpy.longdouble)).sum() for c in chunks_of(len(x))), numpy.longdouble(0))


def units(got, exact, absolute):
    """The largest error over u sum|terms| of its element, or over half an ulp where that is more."""
    half = numpy.maximum(numpy.spacing(abs(exact).astype(numpy.float32)).astype(numpy.longdouble), 2.0 ** -149) / 2
    return float(numpy.max(abs(got.astype(numpy.longdouble).reshape(numpy.shape(exact)) - exact)
                           / numpy.maximum(U * absolute, half)))


def reduced(op, x):
    """The exact result, and the sum of the absolute terms behind it."""
    n = len(x)
    if op == "norm":
        value = numpy.sqrt(total(x, numpy.square))
        return value, value
    if op == "dot":  # of x and x backwards: both halves are the same
        half = x[:n // 2] * x[:n // 2 - 1:-1].astype(numpy.longdouble)
        return 2 * total(half, lambda t: t), 2 * total(half, abs)
    scale = 1 if op == "sum" else n
    value, absolute = total(x, lambda t: t) / scale, total(x, abs) / scale
    if op != "var":
        return value, absolute
    spread = total(x, lambda t: (t - value) ** 2) / (n - 1)
    return spread, 4 * spread + U * value ** 2  # a mean that is off by u of it adds its square


def error_of(op, x, results):
    """Units that each result is off."""
    if op not in ("softmax", "cumsum"):
        exact, absolute = reduced(op, x)
        return [units(got, exact, absolute) for got in results]
    top, most = x.max().astype(numpy.longdouble), [0.0 for got in results]
    scale = total(x, lambda t: numpy.exp(t - top)) if op == "softmax" else 1
    before = behind = numpy.longdouble(0)
    for c in chunks_of(len(x)):
        t = x[c].astype(numpy.longdouble)
        if op == "softmax":
            exact = numpy.exp(t - top) / scale
            absolute = exact * (1 + abs(t - top) / 64)
        else:
            exact, absolute = before + t.cumsum(), behind + abs(t).cumsum()
            before, behind = exact[-1], absolute[-1]
        most = [max(m, units(got[c], exact, absolute)) for m, got in zip(most, results)]
    return most


def main():
    parser = save_run.arguments(__doc__, 28)
    parser.add_argument("--least", type=int, default=10)
    given = parser.parse_args()
    warpsmith = save_run.warpsmith("bench_sums")
    if not warpsmith:
        return 3
    torch, place, name = save_run.torch_and_place(given.device)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for op in OPERATORS:
            for data in DATA:
                if not re.search(given.only, f"{op} {data}"):
                    continue
                for power in range(given.least, given.most + 1, 6):
                    n = 1 << power
                    text = WORKLOAD.format(n=n, operator=OPERATORS[op], data=DATA[data])
                    x, got = save_run.run(warpsmith, folder, given.device, text, ("x", "out0"), f"{op} {data} {n}")
                    results = [got]
                    if torch:
                        y = eval(OPERATORS[op], {"torch": torch, "x": torch.from_numpy(x).to(place)})
                        results.append(y.cpu().numpy())
                    error, theirs = [*error_of(op, x, results), float("nan")][:2]
                    most = 128 + math.log2(n)
                    ok = error <= most and not error > max(2, 2 * theirs)
                    rows.append([name, op, data, n, f"{error:.3g}", f"{theirs:.3g}" if torch else "", f"{most:.3g}", int(ok),
                                 torch.__version__ if torch else "", f"{datetime.date.today()}"])
    return save_run.report("bench_sums", given.out, COLUMNS, rows, name)


if __name__ == "__main__":
    sys.exit(main())
