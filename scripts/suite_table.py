#!/usr/bin/env python3
"""The suite's table and figure from result rows: ours, PyTorch's, and the floor.

    scripts/suite_table.py --out out out/cases out/results/*.csv     out/suite.csv, .gp and, with gnuplot, .svg
    scripts/suite_table.py --has-torch NAME out/cases out/results/*.csv    exit 0 if PyTorch was timed on the case

A line of the cases is "name workload dtype mode axis=value ..."; a row belongs to it if its axes include those. The
newest row of each role counts. floor_us is the least time by the roofline, from the tuned row: bytes that have to move
over the copy bandwidth measured with them.
Exit codes: 0 fine, 1 a file is missing, foreign or has nothing of the suite, 2 usage."""

import argparse
import csv
import math
import os
import shutil
import subprocess
import sys

TORCH = {"torch_eager_us": ("torch_eager", ""), "torch_compile_us": ("torch_compile", "default"),
         "torch_max_autotune_us": ("torch_compile", "max-autotune-no-cudagraphs")}
OURS = {"eager_us": "eager", "default_us": "default", "tuned_us": "tuned"}
COLUMNS = ["case", "workload", "mode", "dtype", "axes", "device", "driver", "toolchain", "torch", "git_rev", "timestamp",
           "mbytes", "floor_us", *OURS, *TORCH, "roof_pct", "best_torch_over_tuned", "max_autotune_over_tuned",
           "default_over_tuned", "tuning_s"]


def read_cases(path):
    with open(path) as file:
        for line in file:
            name, workload, dtype, mode, *axes = line.split()
            yield name, workload, dtype, mode, frozenset(axes)


def read_rows(paths):
    """Timed program rows, oldest first."""
    rows = []
    for path in paths:
        with open(path, newline="") as file:
            reader = csv.DictReader(file)
            if not {"workload", "role", "axes", "median_us", "roof_pct"} <= set(reader.fieldnames or ()):
                raise ValueError(f"{path} is no result file")
            rows += [r for r in reader if r["kernel"] == "program" and r["status"] == "ok" and r["median_us"]]
    return sorted(rows, key=lambda r: r["timestamp"])


def rows_of(case, rows):
    """{(role, config of torch.compile): newest row} of one case."""
    _, workload, dtype, mode, axes = case
    found = {}
    for row in rows:
        if (row["workload"], row["dtype"], row["mode"]) == (workload, dtype, mode) and axes <= set(row["axes"].split()):
            found[row["role"], row["config"] if row["role"] == "torch_compile" else ""] = row
    return found


def line_of(case, rows):
    found = rows_of(case, rows)
    tuned = found.get(("tuned", ""))
    if not tuned:
        return None
    line = {name: tuned[name] for name in ("workload", "mode", "dtype", "axes", "device", "driver", "toolchain", "git_rev",
                                            "timestamp", "roof_pct")}
    us = float(tuned["median_us"])
    line["case"] = case[0]
    line["mbytes"] = f"{float(tuned['bytes']) / 1e6:.1f}" if tuned["bytes"] else ""
    line["floor_us"] = f"{us * float(tuned['roof_pct']) / 100:.2f}" if tuned["roof_pct"] else ""
    line["tuning_s"] = tuned.get("tuning_s", "")
    torch = []
    for column, key in {**{c: (role, "") for c, role in OURS.items()}, **TORCH}.items():
        row = found.get(key)
        line[column] = f"{float(row['median_us']):.2f}" if row else ""
        if row and column in TORCH:
            torch.append(float(row["median_us"]))
            line["torch"] = row["toolchain"]
    line["best_torch_over_tuned"] = f"{min(torch) / us:.3f}" if torch else ""
    most = line["torch_max_autotune_us"]
    line["max_autotune_over_tuned"] = f"{float(most) / us:.3f}" if most else ""
    line["default_over_tuned"] = f"{float(line['default_us']) / us:.3f}" if line["default_us"] else ""
    return line


def geomean(values):
    values = [float(v) for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def summary(lines):
    """What the suite says in a few numbers: (measure, value)."""
    large = [l for l in lines if l["mbytes"] and float(l["mbytes"]) >= 64]
    fast = [l for l in large if float(l["roof_pct"]) >= 92]
    slower = [l["case"] for l in lines if l["best_torch_over_tuned"] and float(l["best_torch_over_tuned"]) < 1 / 1.01]
    ratios = sorted(float(l["default_over_tuned"]) for l in lines if l["default_over_tuned"])
    yield "max-autotune over tuned, geometric mean", f"{geomean(l['max_autotune_over_tuned'] for l in lines):.3f}"
    yield "best of PyTorch over tuned, geometric mean", f"{geomean(l['best_torch_over_tuned'] for l in lines):.3f}"
    yield "large cases (64 MB and up) at 92 % of the roof or more", f"{len(fast)} of {len(large)}"
    yield "cases slower than the best of PyTorch by over 1 %", ", ".join(slower) or "none"
    yield "default over tuned, median", f"{ratios[len(ratios) // 2]:.3f}" if ratios else "-"


FIGURE = """# suite.gp: draws suite.svg from suite.csv beside it.
set terminal svg size 1200,560 font 'DejaVu Sans,11' background '#ffffff'
set output 'suite.svg'
set datafile separator ','
set title 'Time over the floor: the memory-bound suite on {device}'
set ylabel 'time / floor (log)'
set logscale y
set yrange [0.9:*]
set grid ytics lc '#dddddd'
set key top left horizontal
set style data histograms
set style histogram clustered gap 1
set style fill solid border -1
set boxwidth 0.9
set xtics rotate by -40 scale 0 font ',9'
set lmargin 8
set rmargin 6
set bmargin 9
over(c) = column(c) > 0 ? column(c) / column('floor_us') : NaN
plot 'suite.csv' using (over('tuned_us')):xtic(stringcolumn('case')) title 'warpsmith' lc '#1b7837', \\
     '' using (over('torch_max_autotune_us')) title 'max-autotune' lc '#762a83', \\
     '' using (over('torch_compile_us')) title 'torch.compile' lc '#9970ab', \\
     '' using (over('torch_eager_us')) title 'torch eager' lc '#c2a5cf', \\
     1 with lines dt 2 lc '#000000' notitle
"""


def write(out, lines):
    with open(os.path.join(out, "suite.csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(lines)
    with open(os.path.join(out, "suite.gp"), "w") as file:
        file.write(FIGURE.format(device=lines[0]["device"]))
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", "suite.gp"], cwd=out, check=False)


def show(lines):
    head = ["case", "floor", "eager", "default", "tuned", "% roof", "torch", "compile", "max-auto", "best/tuned"]
    body = []
    for l in lines:
        roof = f"{float(l['roof_pct']):.1f}" if l["roof_pct"] else "-"
        cells = [l[n] or "-" for n in ("floor_us", "eager_us", "default_us", "tuned_us")] + [roof]
        cells += [l[n] or "-" for n in TORCH] + [l["best_torch_over_tuned"] + "x" if l["best_torch_over_tuned"] else "-"]
        body.append([l["case"] + (" " + l["mode"] if l["mode"] != "fwd" else "")] + cells)
    widths = [max(len(line[i]) for line in [head] + body) for i in range(len(head))]
    for line in [head] + body:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))))
    for measure, value in summary(lines):
        print(f"{measure}: {value}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases")
    parser.add_argument("files", nargs="+", metavar="FILE.csv")
    parser.add_argument("--out", metavar="DIR")
    parser.add_argument("--has-torch", metavar="NAME")
    given = parser.parse_args()
    try:
        rows = read_rows(given.files)
        cases = list(read_cases(given.cases))
        if given.has_torch:
            mine = [rows_of(case, rows) for case in cases if case[0] == given.has_torch]
            return 0 if mine and all(key in mine[0] for key in TORCH.values()) else 1
        lines = [line for line in (line_of(case, rows) for case in cases) if line]
        if not lines:
            raise ValueError("nothing of the suite was timed")
    except (OSError, ValueError, KeyError) as error:
        print(f"suite_table: {error}", file=sys.stderr)
        return 1
    if given.out:
        write(given.out, lines)
    show(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
