#!/usr/bin/env python3
"""How far sums in f32 are off: ours, PyTorch's, and the bound, over sizes and kinds of data.

    scripts/bench_sums.py --device cpu --out sums.csv [--most 24] [--only 'sum|dot']

Each case is a workload made on the spot: `warpsmith run --save` computes it and hands over its inputs, of which the exact
result is taken in extended precision, and PyTorch's on the same device, where there is PyTorch. Errors are in units of u sum|terms|
(u = 2^-24; half an ulp of the result where that is more); of cumsum and softmax, of the element that is furthest off. The
bound is 128 + log2 n: blocks of at most 128 terms, then a tree (Higham, Accuracy and Stability of Numerical Algorithms,
section 4.2). A row is ok if ours is within it, and within twice PyTorch's error or within two units.
--most: log2 of the most elements. $WARPSMITH (build/warpsmith) is run.
Exit codes: 0 all ok, 1 a row is not, 2 usage, 3 no warpsmith."""

import argparse
import csv
import datetime
import math
import os
import platform
import re
import subprocess
import sys
import tempfile

import numpy

OPERATORS = {
    "sum": "x.sum()", "mean": "x.mean()", "var": "x.var()", "norm": "torch.linalg.vector_norm(x)", "dot": "(x * x.flip(0)).sum()",
    "softmax": "torch.softmax(x, 0)", "cumsum": "x.cumsum(0)",
}
DATA = {
    "normal": "torch.randn(n)", "uniform": "torch.rand(n)", "constant": "torch.full((n,), 0.1)",
    "alternating": "torch.rand(n) * (1 - 2 * (torch.arange(n) % 2))", "wide": "torch.exp2(torch.randn(n) * 8) * torch.randn(n)",
}
COLUMNS = ["device", "op", "data", "n", "error", "torch_error", "bound", "ok", "torch", "date"]
WORKLOAD = """import torch
n = {n}
def f(x):
    return {operator}
def get_inputs():
    return [{data}]
"""


def exact_of(op, x):
    """The result, and the sum of the absolute terms behind each of its elements."""
    x = x.astype(numpy.longdouble)
    if op in ("sum", "mean"):
        scale = 1 if op == "sum" else len(x)
        return x.sum() / scale, abs(x).sum() / scale
    if op == "var":
        terms = (x - x.mean()) ** 2
        return terms.sum() / (len(x) - 1), 4 * terms.sum() / (len(x) - 1)
    if op == "norm":
        value = numpy.sqrt((x * x).sum())
        return value, value
    if op == "dot":
        terms = x * x[::-1]
        return terms.sum(), abs(terms).sum()
    if op == "softmax":
        e = numpy.exp(x - x.max())
        return e / e.sum(), e / e.sum() * (1 + abs(x - x.max()) / 64)
    return x.cumsum(), abs(x).cumsum()


def units(got, exact, absolute):
    """The largest error over u sum|terms| of its element, or over half an ulp where that is more."""
    half = numpy.maximum(numpy.spacing(abs(exact).astype(numpy.float32)).astype(numpy.longdouble), 2.0 ** -149) / 2
    return float(numpy.max(abs(got.astype(numpy.longdouble).reshape(numpy.shape(exact)) - exact)
                           / numpy.maximum(2.0 ** -24 * absolute, half)))


def ours(warpsmith, folder, device, op, data, n):
    path = os.path.join(folder, "f.py")
    with open(path, "w") as file:
        file.write(WORKLOAD.format(n=n, operator=OPERATORS[op], data=DATA[data]))
    command = [warpsmith, "run", path, "--device", device, "--save", os.path.join(folder, "saved")]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"{op} {data} {n}: {ran.stderr.strip()[-300:]}")
    return numpy.load(os.path.join(folder, "saved/x.npy")), numpy.load(os.path.join(folder, "saved/out0.npy"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", required=True)
    parser.add_argument("--most", type=int, default=24)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    warpsmith = os.environ.get("WARPSMITH", "build/warpsmith")
    if not os.access(warpsmith, os.X_OK):
        print(f"bench_sums: no '{warpsmith}' here: run make first", file=sys.stderr)
        return 3
    try:
        import torch
    except ImportError:
        torch = None
    place = "cuda" if given.device.startswith("cuda") else "cpu"
    name = torch.cuda.get_device_name() if torch and place == "cuda" else f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores"
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for op in OPERATORS:
            if not re.search(given.only, op):
                continue
            for data in DATA:
                for power in range(10, given.most + 1, 7):
                    n = 1 << power
                    x, got = ours(warpsmith, folder, given.device, op, data, n)
                    exact, absolute = exact_of(op, x)
                    error, theirs = units(got, exact, absolute), float("nan")
                    if torch:
                        y = eval(OPERATORS[op], {"torch": torch, "x": torch.from_numpy(x).to(place)})
                        theirs = units(y.cpu().numpy(), exact, absolute)
                    most = 128 + math.log2(n)
                    ok = error <= most and not error > max(2, 2 * theirs)
                    wrong += not ok
                    rows.append([name, op, data, n, f"{error:.3g}", f"{theirs:.3g}" if torch else "", f"{most:.3g}", int(ok),
                                 torch.__version__ if torch else "", f"{datetime.date.today()}"])
    with open(given.out, "w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    for row in rows:
        if not row[7]:
            print(" ".join(map(str, row[:8])))
    print(f"bench_sums: {len(rows)} cases on {name}, {wrong} not ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
