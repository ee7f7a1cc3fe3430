#!/usr/bin/env python3
"""One line for each benchmark in result files: the newest eager, default and tuned times, and PyTorch's best.

    scripts/program_table.py results/*.csv
    scripts/program_table.py --runs out/runs.csv out/results/*.csv      with wall times (scripts/bench_device.sh)
    scripts/program_table.py --markdown reports/samples/cpu/*.csv       for README.md (scripts/readme_tables.sh)
    scripts/program_table.py --field roof_pct results/softmax.csv       one column of the tuned programs

The columns of the files are those of reports/columns.def.
Exit codes: 0 fine, 1 a file is missing, foreign or has no timed program, 2 usage."""

import argparse
import csv
import os
import sys

PROGRAM_ROLES = ("eager", "default", "tuned", "torch_eager", "torch_compile")
NEEDED = {"workload", "mode", "dtype", "axes", "device", "role", "config", "status", "median_us", "roof_pct"}


def read_rows(paths):
    for path in paths:
        with open(path, newline="") as file:
            reader = csv.DictReader(file)
            if not NEEDED <= set(reader.fieldnames or ()):
                raise ValueError(f"{path} is no result file")
            yield from reader


def newest_times(rows):
    """{(device, workload, mode, dtype, axes): {(role, config of torch.compile): row}}; later rows replace earlier."""
    benches = {}
    for row in rows:
        if row["role"] not in PROGRAM_ROLES or row["status"] != "ok" or not row["median_us"]:
            continue
        precision = row.get("precision") or "f32"
        dtype = row["dtype"] if precision == "f32" else f"{row['dtype']} {precision}"
        key = row["device"], row["workload"], row["mode"], dtype, row["axes"]
        config = row["config"] if row["role"] == "torch_compile" else ""
        benches.setdefault(key, {})[row["role"], config] = row
    return benches


def microseconds(row):
    return f"{float(row['median_us']):.2f}" if row else "-"


def best_of_torch(times):
    ran = [row for (role, _), row in times.items() if role.startswith("torch_")]
    return min(ran, key=lambda row: float(row["median_us"]), default=None)


def how_torch_ran(row):
    return {"torch_eager": "eager", "torch_compile": row["config"].replace("-no-cudagraphs", "")}[row["role"]]


def read_walls(path):
    """{(workload, dtype, given axes): seconds} of the commands that ran `warpsmith bench`."""
    if not path:
        return None
    with open(path, newline="") as file:
        return {
            (row["workload"], row["dtype"], frozenset(row["axes"].split())): row["seconds"]
            for row in csv.DictReader(file)
            if row["part"] in ("bench", "big")
        }


def wall_of(walls, workload, dtype, axes, overridden):
    """Axes in runs.csv are those given, here all: a run without axes is the one at the file's own sizes."""
    full = frozenset(axes.split())
    if full in overridden.get((workload, dtype), ()):
        return walls[workload, dtype, full]
    return walls.get((workload, dtype, frozenset()), "-")


def table(benches, walls):
    head = ["workload", "dtype", "axes", "unfused us", "default us", "tuned us", "% roof", "torch us", "torch/tuned"]
    lines = []
    overridden = {}
    for workload, dtype, axes in walls or ():
        overridden.setdefault((workload, dtype), set()).add(axes)
    for (_, workload, mode, dtype, axes), times in sorted(benches.items()):
        tuned, torch = times.get(("tuned", "")), best_of_torch(times)
        name = workload if mode == "fwd" else f"{workload} {mode}"
        line = [name, dtype, axes] + [microseconds(times.get((role, ""))) for role in ("eager", "default", "tuned")]
        line.append(f"{float(tuned['roof_pct']):.1f}" if tuned and tuned["roof_pct"] else "-")
        line.append(f"{microseconds(torch)} {how_torch_ran(torch)}" if torch else "-")
        both = tuned and torch
        line.append(f"{float(torch['median_us']) / float(tuned['median_us']):.2f}x" if both else "-")
        if walls is not None:
            line.append(wall_of(walls, workload, dtype, axes, overridden))
        lines.append(line)
    if walls is not None:
        head.append("wall s")
    # Columns that say nothing are left out.
    said = [i for i in range(len(head)) if any(line[i] != "-" for line in lines)]
    return [[line[i] for i in said] for line in [head] + lines]


def print_text(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = [cell.ljust(w) if i < 3 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


def print_markdown(lines):
    head, *body = lines
    print("| " + " | ".join(cell.replace(" us", " µs") for cell in head) + " |")
    print("|" + "|".join("---" if i < 3 else "---:" for i in range(len(head))) + "|")
    for line in body:
        print("| " + " | ".join(line) + " |")


def print_caption(benches, files):
    """How to measure that again: command, device, date, files."""
    rows = [row for times in benches.values() for row in times.values()]

    def said(name, cut=None):
        return ", ".join(sorted({row[name][:cut] for row in rows if row[name]}))

    device = "cpu" if said("timer") == "monotonic" else "cuda:0"
    if len(benches) == 1:
        command = f"make bench WORKLOAD={said('workload')} DEVICE={device}"
    else:
        command = f'make bench WORKLOAD=<workload> DTYPE=<dtype> D="<axes>" DEVICE={device}'
    print(f"\n`{command}` on {said('device')} ({said('arch')}), {said('timestamp', 10)}, timer {said('timer')},")
    places = files if len(files) == 1 else sorted({os.path.dirname(file) + "/" for file in files})
    print(f"compiled with {said('toolchain')}; rows in {', '.join(f'[{place}]({place})' for place in places)}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.csv")
    parser.add_argument("--runs", metavar="FILE", help="runs.csv of scripts/bench_device.sh")
    parser.add_argument("--markdown", action="store_true", help="with a caption")
    parser.add_argument("--field", metavar="COLUMN")
    given = parser.parse_args()
    try:
        benches = newest_times(read_rows(given.files))
        if not benches:
            raise ValueError("no program was timed in " + ", ".join(given.files))
        if given.field:
            print(*[times["tuned", ""][given.field] for times in benches.values()], sep="\n")
            return 0
        lines = table(benches, read_walls(given.runs))
    except (OSError, ValueError, KeyError) as error:
        print(f"program_table: {error}", file=sys.stderr)
        return 1
    if given.markdown:
        print_markdown(lines)
        print_caption(benches, given.files)
    else:
        print_text(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
