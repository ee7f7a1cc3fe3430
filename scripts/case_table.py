#!/usr/bin/env python3
"""A line for each case of scripts/run_cases.py, whatever became of it: the table of scripts/bench_*.sh.

    scripts/case_table.py out >table.csv
    scripts/case_table.py out_0 out_1 --fast >table.csv       several calls' folders, and KernelBench's fast_p

Columns: name, device, date, mode, dtype, precision (f32, tf32, default: PyTorch's own flags), tf32_products and
tf32_convolutions (of PyTorch), ours_precision, axes, flops; ours (right, not judged, wrong, refused, timeout, crashed, died,
not run: only what is right or not judged has times), check (of our outputs against PyTorch's, if asked for), ours_us,
default_us (the first guess; ours_us is this where nothing was tuned, with 0 trials), and a time for each way of PyTorch;
best_over_ours and compile_over_ours (best: of all ways); tflops and roof_pct (of ours); kernels, ours_mb (between kernels),
kept_mb and load_us (what is made of weights alone, once, at load, and stays: in no call's time), of PyTorch eager_launches,
compile_launches, eager_mb, compile_mb (beside inputs, parameters and outputs); trials, tuning_s, ours_s (all of bench),
compile_s, autotune_s (of the first call); why (what failed, first lines); config (of few kernels).

A short table goes to stderr: geometric mean, median and least of the ratios, and what has none. --fast: by the part of the
name before its slash, the share of all its problems that are right and at least p times as fast as torch.compile, and as
eager, and the losses. --kernels: instead a line for each kernel, of ours that were tuned, of PyTorch's on a GPU.
Exit codes: 0 fine, 1 a file is missing or no result file, 2 wrong call."""

import argparse
import ast
import csv
import math
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
import run_cases
import torch_peer
from torch_workload import Failure, axis_assignments, exit_with

TORCH = {"eager": "eager_us", "compile": "compile_us", "max-autotune": "autotune_us", "flash": "flash_us", "cudnn": "cudnn_us",
         "efficient": "efficient_us", "math": "math_us", "flex": "flex_us"}
COLUMNS = ["name", "device", "date", "mode", "dtype", "precision", "tf32_products", "tf32_convolutions", "ours_precision",
           "axes", "flops", "ours", "check", "ours_us", "default_us", *TORCH.values(), "best_over_ours", "compile_over_ours",
           "tflops", "roof_pct", "kernels", "eager_launches", "compile_launches", "ours_mb", "kept_mb", "load_us", "eager_mb",
           "compile_mb", "trials", "tuning_s", "ours_s", "compile_s", "autotune_s", "why", "config"]
FASTER = (0, 0.5, 1, 1.5, 2, 3)
ROLES = ("tuned", "default")  # of ours
LONGEST = 1000  # characters of a config: of many kernels it is in the rows alone


# ---- rows ------------------------------------------------------------------------------------------------------------


class Results:
    """The rows of some folders, oldest first, by file."""

    def __init__(self, folders):
        self.folders, self.files = folders, {}

    def rows(self, case, way, roles=ROLES):
        """Of this case, in one way of PyTorch's, or None for ours, in these roles."""
        path = case.peer.rows_file(pathlib.Path("results"), way or "eager")
        if path not in self.files:
            self.files[path] = [row for folder in self.folders for row in read_rows(folder / path)]
        peer = case.peer
        precision = (peer.precision if way else case.precision) or "f32"
        want = {"mode": peer.row_mode, "dtype": peer.dtype}
        return [row for row in self.files[path] if all(row[k] == v for k, v in want.items())
                and is_of(row, precision)
                and (row["role"] in roles if not way else (row["role"], row["config"]) == torch_peer.ALL_WAYS[way])
                and is_at(row, case)]


def is_of(row, precision):
    """A CPU has no TF32: what it was asked for so is f32, and our row says that."""
    said = row.get("precision") or "f32"
    return said == precision or (said == "f32" and row.get("timer") == "monotonic" and row["role"] in ROLES)


def read_rows(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        if not {"workload", "role", "median_us", "axes"} <= set(reader.fieldnames or ()):
            raise Failure(1, f"'{path}' is no result file")
        return list(reader)


def defaults_of(path, known={}):
    """The axes of a file as they stand in it."""
    if path not in known:
        try:
            known[path] = {name: str(value) for name, value, _ in axis_assignments(ast.parse(path.read_text()))
                           if type(value) is int}
        except (OSError, SyntaxError, ValueError):
            known[path] = {}
    return known[path]


def is_at(row, case):
    """Has the row the axes of the case, and those that it does not give as they stand in the file?"""
    has = dict(word.partition("=")[::2] for word in row["axes"].split())
    if any(has.get(name) != value for name, value in case.point.items()):
        return False
    defaults = defaults_of(case.peer.path).items()
    return all(has[name] == value for name, value in defaults if name in has and name not in case.point)


# ---- lines -----------------------------------------------------------------------------------------------------------


def newest(rows, column=None, value=None):
    return next((row for row in reversed(rows) if row["status"] == "ok" and row["median_us"] and
                 (column is None or row[column] == value)), None)


def number(text):
    return float(text) if text not in (None, "") else 0.0


def ours_of(line, rows, run):
    """What became of ours; its times."""
    if not run:
        line["ours"] = "not run"
        return
    line["kernels"], line["ours_mb"], line["ours_s"] = run["launches"], run["temporary_mb"], run["seconds"]
    tuned, default = newest(rows, "role", "tuned"), newest(rows, "role", "default")
    best = tuned or default
    if run["status"] != "ok" or not best:
        line["ours"] = run["status"] if run["status"] != "ok" else "no time"
        return
    line["ours"] = "not judged" if any(number(r.get("unjudged")) for r in (tuned, default) if r) else "right"
    line.update(ours_us=number(best["median_us"]), roof_pct=best["roof_pct"], flops=best["flops"],
                config=best["config"] if len(best["config"]) <= LONGEST else "", ours_precision=best.get("precision", ""), trials=tuned.get("trials", "") if tuned else "0",
                tuning_s=tuned.get("tuning_s", "") if tuned else "")
    line["load_us"] = best.get("load_us", "")
    if best.get("kept_bytes"):
        line["kept_mb"] = round(number(best["kept_bytes"]) / 1e6, 3)
    if default:
        line["default_us"] = number(default["median_us"])
    place(line, best)


def place(line, row):
    line.update(device=row["device"], date=row["timestamp"][:10], axes=row["axes"])


def torch_of(line, way, rows, run):
    """One way of PyTorch's; a row alone is one that was there before."""
    row = newest(rows)
    if run and run["status"] not in run_cases.FINE:
        return
    if row:
        line[TORCH[way]] = number(row["median_us"])
        seconds = {"compile": "compile_s", "max-autotune": "autotune_s"}.get(way)
        if seconds and row.get("compile_ms"):
            line[seconds] = f"{number(row['compile_ms']) / 1e3:.2f}"
        if "device" not in line:
            place(line, row)
    if run and way in ("eager", "compile"):
        line[f"{way}_launches"], line[f"{way}_mb"] = run["launches"], run["temporary_mb"]


def line_of(case, results, runs):
    peer = case.peer
    line = {"name": case.name, "mode": peer.row_mode, "dtype": peer.dtype,
            "precision": peer.precision or "f32" if peer.dtype == "f32" else ""}
    if peer.dtype == "f32" and peer.precision:
        line["tf32_products"], line["tf32_convolutions"] = ("yes" if on else "no" for on in torch_peer.TF32[peer.precision])
    run = runs.get((case.ours, "ours"))
    ours_of(line, results.rows(case, None), run)
    check = runs.get((case.key, "check"))
    line["check"] = check["status"] if check else ""
    if line["check"] == "wrong":
        line["ours"] = "wrong"
    for way in case.ways:
        torch_of(line, way, results.rows(case, way), runs.get((case.key, way)))
    failed = [(way, row) for way in ("ours", "check", *case.ways)
              if (row := runs.get((case.ours if way == "ours" else case.key, way))) and row["status"] not in run_cases.FINE]
    line["why"] = "; ".join(f"{way}: {row['status']} {row['message']}".strip() for way, row in failed)
    best = min((line[column] for column in TORCH.values() if column in line), default=None)
    us = line.get("ours_us")
    if us and line.get("flops"):
        line["tflops"] = f"{float(line['flops']) / us / 1e6:.2f}"
    if us and best and line["ours"] != "wrong":
        line["best_over_ours"] = f"{best / us:.3f}"
        if "compile_us" in line:
            line["compile_over_ours"] = f"{line['compile_us'] / us:.3f}"
    return line


def cases_of(folders):
    """(cases, {(case, way): what became of it}) of all folders; the newest outcome of each counts."""
    cases, runs = {}, {}
    for folder in folders:
        path = folder / "cases.txt"
        if not path.exists():
            raise Failure(1, f"no '{path}': it is no folder of scripts/run_cases.py")
        for case in run_cases.read_cases(path, []):
            cases.setdefault(case.key, case)
        runs.update(run_cases.read_runs(folder)[0])
    for key, way in runs:
        if key in cases and way in TORCH and way not in cases[key].ways:
            cases[key].ways = [*cases[key].ways, way]
    return list(cases.values()), runs


def lines_of(folders):
    """[(case, line)]"""
    cases, runs = cases_of(folders)
    results = Results(folders)
    return [(case, line_of(case, results, runs)) for case in cases]


def kernels_of(folders):
    """Rows of run_cases.KERNEL_COLUMNS: of PyTorch's ways as they were recorded, of ours each kernel's fastest variant."""
    found = {}
    for folder in folders:
        path = folder / "torch_kernels.csv"
        if path.exists():
            with path.open(newline="") as file:
                for row in csv.DictReader(file):
                    found.setdefault((folder, row["case"], row["way"]), {})[row["kernel"]] = row
    newest_of = {(case, way): rows for (_, case, way), rows in found.items()}
    cases, _ = cases_of(folders)
    results = Results(folders)
    for case in cases:
        ours = {row["kernel"]: row for row in results.rows(case, None, ("variant",))
                if row["is_winner"] == "1" and row["median_us"]}
        for row in ours.values():
            yield {"case": case.key, "way": "ours", "kernel": row["kernel"], "launches": "", "us": row["median_us"]}
        for way in case.ways:
            yield from newest_of.get((case.key, way), {}).values()


def write(lines, columns=COLUMNS):
    out = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    out.writeheader()
    out.writerows({name: torch_peer.as_cell(value) for name, value in line.items()} for line in lines)


# ---- the short table -------------------------------------------------------------------------------------------------


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def kind(line):
    """What is compared with what: f32, TF32 forbidden."""
    allowed = {"f32": ", TF32 forbidden", "tf32": ", TF32 allowed", "default": ", PyTorch's own flags (TF32 in convolutions)"}
    mode = "" if line["mode"] == "fwd" else f" {line['mode']}"
    return f"{line['dtype']}{mode}{allowed.get(line['precision'], '') if line['dtype'] == 'f32' else ''}"


def grouped(lines, key):
    return {k: [line for line in lines if key(line) == k] for k in dict.fromkeys(map(key, lines))}


def said_of(ratios):
    least = min(ratios, key=lambda pair: pair[0])
    return (f"geometric mean {geomean([r for r, _ in ratios]):.3f}, median {statistics.median(r for r, _ in ratios):.3f}, "
            f"worst {least[0]:.3f} ({least[1]})")


def ratios_of(lines, over):
    """[(ratio, name)] of those that have it: a column of ratios, or one of times, over ours."""
    found = []
    for line in lines:
        us, value = number(line.get("ours_us")), number(line.get(over))
        if value and (us or not over.endswith("_us")):
            found.append((value / us if over.endswith("_us") else value, line["name"]))
    return found


def summarize(lines):
    for of, some in grouped(lines, kind).items():
        ratios = ratios_of(some, "best_over_ours")
        if ratios:
            yield f"{of}: {len(ratios)} cases, {said_of(ratios)}"
        fates = [line["ours"] for line in some]
        if len(ratios) < len(some):
            counts = ", ".join(f"{fates.count(fate)} {fate}" for fate in dict.fromkeys(fates))
            yield f"{of}: {len(some) - len(ratios)} of {len(some)} cases without a ratio; ours: {counts}"


def shown(lines):
    def cell(line, column, digits=1):
        value = line.get(column)
        return "-" if value in (None, "") else f"{float(value):.{digits}f}"

    columns = {"ours_us": 1, "eager_us": 1, "compile_us": 1, "autotune_us": 1, "best_over_ours": 3, "ours_mb": 1, "compile_mb": 1,
               "tuning_s": 1, "compile_s": 1, "autotune_s": 1}
    yield f"{'case':44} {'ours':11} " + " ".join(f"{column:>{max(len(column), 9)}}" for column in columns)
    for line in lines:
        cells = (f"{cell(line, column, digits):>{max(len(column), 9)}}" for column, digits in columns.items())
        yield f"{line['name'] + ' ' + kind(line):44} {line['ours']:11} " + " ".join(cells)


def fast_rows(lines):
    """KernelBench's fast_p, over all problems; one that is not right, or that PyTorch has no time of, is not fast:
    (level, kind, way, problems, right, [(ratio, name)] of what is right and has both times, {p: share})."""
    def group(line):
        return line["name"].partition("/")[0], kind(line)

    for (level, of), some in grouped(lines, group).items():
        right = [line for line in some if line["ours"] == "right"]
        for way in ("compile", "eager"):
            if any(number(line.get(TORCH[way])) for line in some):
                ratios = ratios_of(right, TORCH[way])
                shares = {p: (sum(r >= p for r, _ in ratios) if p else len(right)) / len(some) for p in FASTER}
                yield level, of, way, len(some), len(right), ratios, shares


def floors_of(lines):
    """{(name, what is compared): us}: the least time that the device has for what our program of a problem computes, as it lies
    between its inputs and outputs. That is the roofline's, of each byte read and written once at copy speed, but with products
    at the best rate that any of these lines has in the same precision: no product reaches the data sheet's. What was
    faster (reads alone are faster than a copy) is a floor of its own."""
    rate = {}
    for line in lines:
        of = line["ours_precision"]
        rate[of] = max(rate.get(of, 0), number(line["tflops"]))
    floors = {}
    for line in lines:
        us, tflops = number(line["ours_us"]), rate[line["ours_precision"]]
        if us and number(line["roof_pct"]):
            least = max(us * number(line["roof_pct"]) / 100, number(line["flops"]) / tflops / 1e6 if tflops else 0)
            floors[line["name"], kind(line)] = min(us, least)
    return floors


def losses_of(lines):
    """What is slower than the best of PyTorch, the slowest first."""
    lost = [line for line in lines if 0 < number(line.get("best_over_ours")) < 1]
    return sorted(lost, key=lambda line: number(line["best_over_ours"]))


def fast(lines):
    for level, of, way, problems, right, ratios, shares in fast_rows(lines):
        yield f"{level} {of}, over {way}: {problems} problems, {right} right, {len(ratios)} with both times"
        yield "  " + "  ".join(f"fast_{p:g} {share:.2f}" for p, share in shares.items())
        if ratios:
            yield f"  {said_of(ratios)}"
    lost = losses_of(lines)
    if lost:
        yield f"slower than the best of PyTorch: {len(lost)}"
    for line in lost:
        launches = f", {line['kernels']} kernels" if line.get("kernels") else ""
        launches += f" (PyTorch's eager {line['eager_launches']})" if line.get("eager_launches") else ""
        roof = f", {float(line['roof_pct']):.0f} % of the roof" if line.get("roof_pct") else ""
        yield f"  {line['name']} {kind(line)}: {line['best_over_ours']}{roof}{launches}"
    for line in lines:
        if line["ours"] not in ("right", "not run"):
            yield f"  {line['name']} {kind(line)}: {line['ours']}  {line['why'][:160]}".rstrip()


def folders_of(parser):
    parser.add_argument("out", nargs="+", type=pathlib.Path, metavar="OUTDIR", help="of scripts/run_cases.py")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folders_of(parser)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--each", action="store_true", help="a line of the short table for each case, too")
    parser.add_argument("--kernels", action="store_true")
    given = parser.parse_args()
    if given.kernels:
        write(kernels_of(given.out), run_cases.KERNEL_COLUMNS)
        return 0
    lines = [line for _, line in lines_of(given.out)]
    write(lines)
    for said in [*(shown(lines) if given.each else ()), *(fast(lines) if given.fast else summarize(lines))]:
        print(said, file=sys.stderr)
    return 0


if __name__ == "__main__":
    exit_with("case_table", main)
