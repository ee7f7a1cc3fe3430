#!/usr/bin/env python3
"""The suite's table and figure from result rows: ours, PyTorch's, and the floor.

    scripts/suite_table.py --out out out/cases out/results/*.csv     out/suite.csv, .gp and, with gnuplot, .svg
    scripts/suite_table.py --markdown suite.csv                      the same for README.md
    scripts/suite_table.py --has-torch NAME out/cases out/results/*.csv    exit 0 if PyTorch was timed on the case
    scripts/suite_table.py --misses out/cases out/results/*.csv            names of large cases below 92 % of the roof

--earlier SUITE.csv: PyTorch's times of cases that no row has them of are taken from that table, if it is of the same
kind of device; torch_date says when they were measured.

A line of the cases is "name workload dtype mode axis=value ..."; a row belongs to it if its axes include those. The
newest row of each role counts; with --least, for machines that others use, the one with the least time, and that time
instead of the median. floor_us is the least time by the roofline, from the tuned row: bytes that have to move over the
copy bandwidth measured with them; with --least, over the best that was measured with any row.
With --out and --counted, misses.csv says of these what the hardware counted in their longest kernel.
Exit codes: 0 fine, 1 a file is missing, foreign or has nothing of the suite, 2 usage."""

import argparse
import csv
import glob
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
           "default_over_tuned", "tuning_s", "torch_date"]

LARGE, FAST = 64, 92  # megabytes moved; per cent of the roof
COUNTED = ["kernel", "config", "median_us", "bytes", "dram_bytes", "occupancy", "l2_hit_pct", "issue_pct", "pipe", "pipe_pct",
           "stall", "stall_pct"]


def read_cases(path):
    with open(path) as file:
        for line in file:
            name, workload, dtype, mode, *axes = line.split()
            yield name, workload, dtype, mode, frozenset(axes)


def is_timed_program(row):
    return row["kernel"] == "program" and row["status"] == "ok" and row["median_us"]


def is_counted(row):
    return row.get("counters") == "cupti" and row["role"] == "variant" and row["status"] == "ok"


def read_rows(paths, wanted=is_timed_program):
    """Of result files, oldest first."""
    rows = []
    for path in paths:
        with open(path, newline="") as file:
            reader = csv.DictReader(file)
            if not {"workload", "role", "axes", "median_us", "roof_pct"} <= set(reader.fieldnames or ()):
                raise ValueError(f"{path} is no result file")
            rows += [r for r in reader if wanted(r)]
    return sorted(rows, key=lambda r: r["timestamp"])


def least_first(rows):
    """The rows with their least time for the median, so that the least of a case and role comes last."""
    bandwidth = max((float(r["gbps"]) * 100 / float(r["roof_pct"]) for r in rows if r["gbps"] and r["roof_pct"]), default=0)
    rows = [{**r, "median_us": r["min_us"]} for r in rows]
    for row in rows:
        if row["roof_pct"] and row["bytes"]:
            row["roof_pct"] = f"{float(row['bytes']) / bandwidth / 10 / float(row['median_us']):.4f}"
    return sorted(rows, key=lambda r: -float(r["median_us"]))


def rows_of(case, rows):
    """{(role, config of torch.compile): the row that comes last} of one case."""
    _, workload, dtype, mode, axes = case
    found = {}
    for row in rows:
        if (row["workload"], row["dtype"], row["mode"]) == (workload, dtype, mode) and axes <= set(row["axes"].split()):
            found[row["role"], row["config"] if row["role"] == "torch_compile" else ""] = row
    return found


def earlier_rows(path):
    """The rows that a table of the suite was made of, as far as it keeps them: PyTorch's."""
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file))
    if not lines or not {"case", "axes", "torch", *TORCH} <= set(lines[0]):
        raise ValueError(f"{path} is no table of the suite")
    for line in lines:
        for column, (role, config) in TORCH.items():
            if line[column]:
                yield {"workload": line["workload"], "dtype": line["dtype"], "mode": line["mode"], "axes": line["axes"],
                       "device": line["device"], "role": role, "config": config, "toolchain": line["torch"],
                       "timestamp": line.get("torch_date") or line["timestamp"][:10], "median_us": line[column]}


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
            line["torch"], line["torch_date"] = row["toolchain"], row["timestamp"][:10]
    line["best_torch_over_tuned"] = f"{min(torch) / us:.3f}" if torch else ""
    most = line["torch_max_autotune_us"]
    line["max_autotune_over_tuned"] = f"{float(most) / us:.3f}" if most else ""
    line["default_over_tuned"] = f"{float(line['default_us']) / us:.3f}" if line["default_us"] else ""
    return line


def geomean(values):
    values = [float(v) for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def is_large(line):
    """And its roof is known: no copy was fit to hold it against otherwise."""
    return line["roof_pct"] and line["mbytes"] and float(line["mbytes"]) >= LARGE


def roof(line):
    return f"{float(line['roof_pct']):.1f}" if line["roof_pct"] else "-"


def is_miss(line):
    return is_large(line) and float(line["roof_pct"]) < FAST


def miss_of(line, counted):
    """What was counted of the fastest variant of the kernel that takes longest."""
    mine = [r for r in counted if all(r[n] == line[n] for n in ("workload", "mode", "dtype", "axes"))]
    kernels = {}
    for row in mine:
        best = kernels.get(row["kernel"])
        if not best or float(row["median_us"]) <= float(best["median_us"]):
            kernels[row["kernel"]] = row
    longest = max(kernels.values(), key=lambda r: float(r["median_us"]), default={})
    return {**{n: line[n] for n in ("case", "device", "timestamp", "mbytes", "roof_pct")},
            **{n: longest.get(n, "") for n in COUNTED}}


def summary(lines):
    """What the suite says in a few numbers: (measure, value)."""
    large = [l for l in lines if is_large(l)]
    fast = [l for l in large if not is_miss(l)]
    slower = [l["case"] for l in lines if l["best_torch_over_tuned"] and float(l["best_torch_over_tuned"]) < 1 / 1.01]
    ratios = sorted(float(l["default_over_tuned"]) for l in lines if l["default_over_tuned"])
    for name, column in ("torch.compile", "torch_compile_us"), ("max-autotune", "torch_max_autotune_us"):
        theirs = [float(l[column]) / float(l["tuned_us"]) for l in lines if l[column]]
        if theirs:
            yield f"{name} over tuned, geometric mean", f"{geomean(theirs):.3f}"
    yield "best of PyTorch over tuned, geometric mean", f"{geomean(l['best_torch_over_tuned'] for l in lines):.3f}"
    yield "large cases (64 MB and up) at 92 % of the roof or more", f"{len(fast)} of {len(large)}"
    yield "cases slower than the best of PyTorch by over 1 %", ", ".join(slower) or "none"
    yield "default over tuned, median", f"{ratios[len(ratios) // 2]:.3f}" if ratios else "-"


# The look of reports/style.gp. Dots on a logarithmic axis: a bar would have to begin somewhere.
FIGURE = """# suite.gp: draws suite.svg from suite.csv beside it.
set terminal svg noenhanced size 960,{height} font 'sans-serif,12' background 'white'
set output 'suite.svg'
set datafile separator ','
ink = '#2b2f36'
set border 0
set tics nomirror scale 0 textcolor rgb ink
set label 1 'Time over the floor: the memory-bound suite on {device}' at screen 0.012, screen 1 - 18.0 / {height} left font ',15' textcolor rgb ink
set label 2 '1, the line: what the copy bandwidth allows; logarithmic' at screen 0.012, screen 1 - 38.0 / {height} left textcolor rgb '#5c636e'
set logscale x
set xrange [0.85:{last}]
set yrange [{rows} - 0.4:-0.6]
set xtics (1, 1.5, 2, 3, 5, 10, 20, 50)
set grid xtics ytics linetype 1 linewidth 1 linecolor rgb '#e3e6ea'
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linewidth 1.6 linecolor rgb '#b4532a' back
set key at screen 0.985, screen 1 - 38.0 / {height} right top horizontal reverse Left samplen 1 textcolor rgb ink
set tmargin at screen 1 - 62.0 / {height}
set bmargin at screen 26.0 / {height}
over(c) = column(c) > 0 ? column(c) / column({floor}) : NaN
plot 'suite.csv' skip 1 {ways}
"""


# column, name, colour and shape: told apart without colour, too; ours is drawn last, on top
WAYS = [("torch_eager", "torch eager", "#b8892f", 9), ("torch_compile", "torch.compile", "#b06a2c", 13),
        ("torch_max_autotune", "max-autotune", "#7d4a1e", 5), ("tuned", "warpsmith", "#2f6d9e", 7)]


def ways(lines):
    """What gnuplot draws of them: the ways that any case was measured in."""
    kept = [way for way in WAYS if any(l[f"{way[0]}_us"] for l in lines)]
    drawn = [f"using (over({COLUMNS.index(name + '_us') + 1})):0{':ytic(1)' if i == 0 else ''} with points pointtype {shape} "
             f"pointsize 0.9 linecolor rgb '{color}' title '{title}'" for i, (name, title, color, shape) in enumerate(kept)]
    return ", \\\n     '' skip 1 ".join(drawn)


def largest(lines):
    """Where the axis ends: a little beyond the slowest."""
    floors = [(float(l["floor_us"]), float(l[f"{way[0]}_us"])) for l in lines for way in WAYS
              if l["floor_us"] and l[f"{way[0]}_us"]]
    return max([us / floor for floor, us in floors if floor > 0], default=1) * 1.15


def write_misses(out, lines, counted):
    misses = [miss_of(l, counted) for l in lines if is_miss(l)]
    with open(os.path.join(out, "misses.csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, ["case", "device", "timestamp", "mbytes", "roof_pct"] + COUNTED, lineterminator="\n")
        writer.writeheader()
        writer.writerows(misses)


def write(out, lines):
    with open(os.path.join(out, "suite.csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(lines)
    with open(os.path.join(out, "suite.gp"), "w") as file:
        file.write(FIGURE.format(device=lines[0]["device"], floor=COLUMNS.index("floor_us") + 1, ways=ways(lines),
                                 rows=len(lines), height=100 + 17 * len(lines), last=f"{largest(lines):.3g}"))
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", "suite.gp"], cwd=out, check=False)


def show(lines):
    head = ["case", "floor", "eager", "default", "tuned", "% roof", "torch", "compile", "max-auto", "best/tuned"]
    body = []
    for l in lines:
        cells = [l[n] or "-" for n in ("floor_us", "eager_us", "default_us", "tuned_us")] + [roof(l)]
        cells += [l[n] or "-" for n in TORCH] + [l["best_torch_over_tuned"] + "x" if l["best_torch_over_tuned"] else "-"]
        body.append([case_title(l)] + cells)
    widths = [max(len(line[i]) for line in [head] + body) for i in range(len(head))]
    for line in [head] + body:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))))
    for measure, value in summary(lines):
        print(f"{measure}: {value}")


def case_title(line):
    return line["case"] + (" " + line["mode"] if line["mode"] != "fwd" else "")


def print_markdown(path, only):
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file))
    print("| case | MB | floor µs | tuned µs | % roof | default µs | torch eager | torch.compile | max-autotune | best of torch / tuned |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for l in lines:
        if only and case_title(l) not in only.split("|"):
            continue
        ratio = f"{float(l['best_torch_over_tuned']):.2f}x" if l["best_torch_over_tuned"] else "-"
        cells = [l[n] or "-" for n in ("mbytes", "floor_us", "tuned_us")] + [roof(l), l["default_us"] or "-"]
        print("| " + " | ".join([l["case"] + (" " + l["mode"] if l["mode"] != "fwd" else "")] + cells
                                 + [l[n] or "-" for n in TORCH] + [ratio]) + " |")
    print()
    if only:
        print(f"Over all {len(lines)} cases: " + "; ".join(f"{measure}: {value}" for measure, value in summary(lines)) + ".")
    else:
        print("\n".join(f"* {measure}: {value}" for measure, value in summary(lines)) + "\n")
    torch = ", ".join(sorted({l["torch"] for l in lines if l["torch"]}))
    print(f"`scripts/bench_suite.sh` on {lines[0]['device']}, {max(l['timestamp'] for l in lines)[:10]}, {torch}; "
          f"rows in [{path}]({path}).")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", metavar="CASES")
    parser.add_argument("files", nargs="*", metavar="FILE.csv")
    parser.add_argument("--markdown", action="store_true", help="CASES is a suite.csv")
    parser.add_argument("--only", metavar="CASE|CASE", help="lines of --markdown")
    parser.add_argument("--out", metavar="DIR")
    parser.add_argument("--has-torch", metavar="NAME", help="exit 1 unless --ways of that case are timed")
    parser.add_argument("--ways", default="eager,compile,max-autotune", help="of PyTorch, as torch_peer.py takes them")
    parser.add_argument("--earlier", metavar="SUITE.csv", help="a table with PyTorch's times")
    parser.add_argument("--counted", metavar="DIR", help="result files of bench --profile")
    parser.add_argument("--misses", action="store_true", help="only the names of large cases that miss their target")
    parser.add_argument("--least", action="store_true", help="the least times of all rows")
    given = parser.parse_args()
    try:
        if given.markdown:
            print_markdown(given.cases, given.only)
            return 0
        rows = read_rows(given.files)
        rows = least_first(rows) if given.least else rows
        if given.earlier:
            devices = {r["device"] for r in rows if r["role"] == "tuned"}
            rows = [r for r in earlier_rows(given.earlier) if not devices or r["device"] in devices] + rows
        cases = list(read_cases(given.cases))
        if given.has_torch:
            mine = [rows_of(case, rows) for case in cases if case[0] == given.has_torch]
            return 0 if mine and all(TORCH[f"torch_{way.replace('-', '_')}_us"] in mine[0] for way in given.ways.split(",")) else 1
        counted = read_rows(glob.glob(os.path.join(given.counted, "*.csv")), is_counted) if given.counted else []
        lines = [line for line in (line_of(case, rows) for case in cases) if line]
        if not lines:
            raise ValueError("nothing of the suite was timed")
    except (OSError, ValueError, KeyError) as error:
        print(f"suite_table: {error}", file=sys.stderr)
        return 1
    if given.misses:
        print("\n".join(l["case"] for l in lines if is_miss(l)))
        return 0
    if given.out:
        write(given.out, lines)
        write_misses(given.out, lines, counted)
    show(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
