#!/usr/bin/env python3
"""A line for each convolution that results have: the table of scripts/bench_convolutions.sh.

    scripts/convolution_table.py cases.txt results >convolutions.csv
    scripts/convolution_table.py --missing cases.txt results

cases.txt has lines `name workload dtype precision axis=value ...`, whose rows are in results/WORKLOAD.csv. Columns: name, device, date, dtype, precision (f32: PyTorch
with TF32 forbidden; tf32: with TF32 allowed), axes, flops, ours_us and default_us (tuned, and the first guess, which ours_us
is, too, with 0 trials, where nothing was tuned: ARGS=--no-search), eager_us,
compile_us, best_over_ours (the faster of PyTorch's over ours), tflops (of ours), trials, tuning_s, config. Geometric means and
the worst case of each dtype and precision go to stderr. --missing prints instead the cases that have no time of ours.
Exit codes: 0 fine, 1 a file is missing or no result file, 2 wrong call."""

import csv
import math
import pathlib
import sys

COLUMNS = ["name", "device", "date", "dtype", "precision", "axes", "flops", "ours_us", "default_us", "eager_us", "compile_us"]
COLUMNS += ["best_over_ours", "tflops", "trials", "tuning_s", "config"]
TIMES = {"tuned": "ours_us", "default": "default_us", "torch_eager": "eager_us", "torch_compile": "compile_us"}


def stop(text, code):
    print(f"convolution_table: {text}", file=sys.stderr)
    sys.exit(code)


def read_cases(path):
    """[(name, (workload, dtype, precision), {axis=value})]"""
    try:
        with open(path) as file:
            words = [line.split() for line in file if line.strip()]
    except OSError as error:
        stop(error, 1)
    return [(w[0], (pathlib.Path(w[1]).stem, w[2], w[3]), frozenset(w[4:])) for w in words]


def read_rows(folder, workloads):
    """{workload: the forward's rows with a time, oldest first}"""
    found = {}
    for name in workloads:
        path = pathlib.Path(folder) / f"{name}.csv"
        if not path.exists():
            found[name] = []
            continue
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            if not {"workload", "role", "median_us", "axes"} <= set(reader.fieldnames or ()):
                stop(f"'{path}' is no result file", 1)
            found[name] = [row for row in reader
                           if row["role"] in TIMES and row["status"] == "ok" and row["mode"] == "fwd"]
    return found


def line_of(rows, key, axes):
    """What the newest rows say of a case."""
    line = {}
    for row in rows:
        precision = row.get("precision") or "f32"
        alike = precision == key[2]
        if row["dtype"] != key[1] or not alike or not axes <= set(row["axes"].split()):
            continue
        line[TIMES[row["role"]]] = float(row["median_us"])
        line.update(device=row["device"], date=row["timestamp"][:10], axes=row["axes"])
        if row["role"] == "tuned":
            line.update({name: row[name] for name in ("config", "trials", "tuning_s", "flops")})
        elif row["role"] == "default" and "ours_us" not in line:
            line.update(config=row["config"], trials="0", flops=row["flops"])
    if "default_us" in line:
        line.setdefault("ours_us", line["default_us"])
    return line


def finish(line):
    ours = line.get("ours_us")
    best = min((line[name] for name in ("eager_us", "compile_us") if name in line), default=None)
    if ours and line.get("flops"):
        line["tflops"] = f"{float(line['flops']) / ours / 1e6:.2f}"
    if ours and best:
        line["best_over_ours"] = f"{best / ours:.3f}"


def main():
    given = sys.argv[1:]
    missing = given[:1] == ["--missing"]
    given = given[missing:]
    if len(given) != 2 or given[0].startswith("-"):
        print(__doc__, file=sys.stdout if given[:1] in (["-h"], ["--help"]) else sys.stderr)
        sys.exit(0 if given[:1] in (["-h"], ["--help"]) else 2)
    cases = read_cases(given[0])
    rows = read_rows(given[1], {key[0] for _, key, _ in cases})
    if missing:
        with open(given[0]) as file:
            lines = [line for line in file if line.strip()]
        for line, (_, key, axes) in zip(lines, cases):
            if "ours_us" not in line_of(rows[key[0]], key, axes):
                print(line, end="")
        return
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    ratios = {}
    for name, key, axes in cases:
        line = line_of(rows[key[0]], key, axes)
        if not line:
            continue
        finish(line)
        line.update(name=name, dtype=key[1], precision=key[2])
        out.writerow(line)
        if "best_over_ours" in line:
            ratios.setdefault(key[1:], []).append((float(line["best_over_ours"]), name))
    for (dtype, precision), of in sorted(ratios.items()):
        mean = math.exp(sum(math.log(ratio) for ratio, _ in of) / len(of))
        allowed = "" if dtype != "f32" else ", TF32 allowed" if precision == "tf32" else ", TF32 forbidden"
        print(f"{dtype}{allowed}: {len(of)} cases, geometric mean {mean:.3f}, worst {min(of)[0]:.3f} ({min(of)[1]})",
              file=sys.stderr)


main()
