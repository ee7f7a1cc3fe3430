#!/usr/bin/env python3
"""A line for each product that results have both of ours and of PyTorch's eager: the table of scripts/bench_products.sh.

    scripts/product_table.py product-results/results/*.csv >products.csv

Columns: device, date, workload, dtype, precision, axes, flops, ours_us and default_us (tuned, and the first guess; of bench --no-search this
alone), torch_us,
torch_over_ours, tflops (of ours), trials and tuning_s, config. Geometric means go to stderr.
Exit codes: 0 fine, 1 a file is missing or no result file, 2 wrong call."""

import csv
import math
import sys

COLUMNS = ["device", "date", "workload", "dtype", "precision", "axes", "flops", "ours_us", "default_us", "torch_us"]
COLUMNS += ["torch_over_ours", "tflops", "trials", "tuning_s", "config"]
TIMES = {"tuned": "ours_us", "default": "default_us", "torch_eager": "torch_us"}


def read(paths):
    """{(device, workload, dtype, precision, axes): line}, of the newest rows."""
    lines = {}
    for path in paths:
        try:
            file = open(path, newline="")
        except OSError as error:
            print(f"product_table: {error}", file=sys.stderr)
            sys.exit(1)
        with file:
            reader = csv.DictReader(file)
            if not {"workload", "role", "median_us", "axes"} <= set(reader.fieldnames or ()):
                print(f"product_table: '{path}' is no result file", file=sys.stderr)
                sys.exit(1)
            for row in reader:
                if row["role"] not in TIMES or row["status"] != "ok" or row["mode"] != "fwd":
                    continue
                axes = " ".join(sorted(row["axes"].split()))
                line = lines.setdefault((row["device"], row["workload"], row["dtype"], row.get("precision") or "f32", axes), {})
                line[TIMES[row["role"]]] = float(row["median_us"])
                line["date"] = row["timestamp"][:10]
                if row["role"] == "tuned" or (row["role"] == "default" and "ours_us" not in line):
                    line.update(config=row["config"], trials=row["trials"], tuning_s=row["tuning_s"], flops=row["flops"])
    return lines


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr if len(sys.argv) < 2 else sys.stdout)
        sys.exit(2 if len(sys.argv) < 2 else 0)
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    ratios, guesses = {}, []
    for (device, workload, dtype, precision, axes), line in sorted(read(sys.argv[1:]).items()):
        line.setdefault("ours_us", line.get("default_us"))  # of --no-search
        if not line["ours_us"]:
            continue
        line.update(device=device, workload=workload, dtype=dtype, precision=precision, axes=axes)
        line["tflops"] = f"{float(line['flops']) / line['ours_us'] / 1e6:.1f}" if line.get("flops") else ""
        if "torch_us" in line:
            ratio = line["torch_us"] / line["ours_us"]
            line["torch_over_ours"] = f"{ratio:.3f}"
            ratios.setdefault(dtype if precision == "f32" else f"{dtype} {precision}", []).append(ratio)
        if "default_us" in line:
            guesses.append(line["default_us"] / line["ours_us"])
        out.writerow(line)
    for dtype, of in sorted(ratios.items()):
        mean = math.exp(sum(map(math.log, of)) / len(of))
        print(f"{dtype}: {len(of)} cases, geometric mean {mean:.3f}, least {min(of):.3f}", file=sys.stderr)
    if guesses:
        print(f"first guess over best: median {sorted(guesses)[len(guesses) // 2]:.3f}", file=sys.stderr)


main()
