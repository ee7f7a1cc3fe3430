#!/usr/bin/env python3
"""check_graphs.py: graphs that torch.compile captured of public models, as GraphNet collects them, through warpsmith's capture.

    python3 scripts/check_graphs.py CHECKOUT/samples --out DIR [--only PATTERN] [--number 400 --seed 1] [--shard 0/2] [--seconds 600]
    python3 scripts/check_graphs.py CHECKOUT/samples --out DIR --table

A sample is a folder with model.py, whose class GraphModule has parameters as arguments, too, and input_meta.py and weight_meta.py,
which say shapes, types, and a mean and a deviation, or the data. It becomes a workload file, DIR/NAME.py, which `warpsmith explain`
($WARPSMITH, default build/warpsmith) captures and fuses; what it computes can be compared by scripts/torch_peer.py --check DIR/NAME.py.
DIR/graphs.csv has a row each: sample, status (captured, refused, crash, timeout, unreadable), kernels, seconds, message; what has one
already is not run again. The table counts them, and why they were refused.
Exit codes: 0 no crash, 1 one, 2 wrong call."""

import argparse
import ast
import collections
import concurrent.futures
import csv
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import time

COLUMNS = ["sample", "status", "kernels", "seconds", "message"]


class Unreadable(Exception):
    """A sample that cannot be made a workload."""


def described(path):
    """What the classes of a meta file assign, a dict for each."""
    for c in ast.parse(path.read_text()).body if path.exists() else []:
        if isinstance(c, ast.ClassDef):
            values = {}
            for s in c.body:
                if isinstance(s, ast.Assign):
                    try:
                        values[s.targets[0].id] = ast.literal_eval(s.value)
                    except ValueError:  # float('inf') in data
                        values[s.targets[0].id] = ast.unparse(s.value)
            yield values


def value_text(name, d):
    """The expression that makes such an input."""
    shape, dtype, data = d.get("shape", []), d["dtype"], d.get("data")
    if data is not None:
        if re.fullmatch(r"s\d+", name) and not shape:
            return repr(data[0])
        return f"torch.tensor({data if isinstance(data, str) else repr(data)}, dtype={dtype}).reshape({shape})"
    if dtype == "torch.bool":
        return f"torch.ones({shape}, dtype=torch.bool)"
    if "float" not in dtype:
        return f"torch.randint({int(d.get('min_val', 0))}, {int(d.get('max_val', 1)) + 1}, {shape}, dtype={dtype})"
    if "running_var" in name:
        return f"torch.rand({shape}, dtype={dtype}) + 0.5"
    said = [(d.get("mean"), 0), (d.get("std"), 1)]  # None or nan where it is not known
    mean, std = [x if isinstance(x, (int, float)) and math.isfinite(x) else default for x, default in said]
    return f"torch.randn({shape}, dtype={dtype}) * {std} + {mean}" if shape else f"torch.tensor({mean}, dtype={dtype})"


def workload(folder, path):
    try:
        text = (folder / "model.py").read_text()
        forward = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name == "forward"][0]
        known = {d.get("name"): d for file in ("input_meta.py", "weight_meta.py") for d in described(folder / file)}
        made = [value_text(a.arg, known[a.arg]) for a in forward.args.args[1:]]
    except (OSError, SyntaxError, IndexError, KeyError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error
    path.write_text(f"{text}\n\nModel = GraphModule\n\n\ndef get_inputs():\n    return [" + ", ".join(made) +
                    "]\n\n\ndef get_init_inputs():\n    return []\n")


def judged(name, folder, given):
    path = given.out / f"{name}.py"
    try:
        workload(folder, path)
    except Unreadable as error:
        return [name, "unreadable", "", "", str(error)]
    begun = time.monotonic()
    command = [os.environ.get("WARPSMITH", "build/warpsmith"), "explain", str(path)]
    try:
        p = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=given.limit, check=False)
    except subprocess.TimeoutExpired:
        return [name, "timeout", "", f"{given.limit:g}", ""]
    seconds = f"{time.monotonic() - begun:.1f}"
    kernels = re.findall(r"^Kernels: (\d+)", p.stdout, re.M)
    broken = "graph break" in p.stderr  # what is left then runs in segments
    if p.returncode == 0 and not broken:
        path.unlink()
        return [name, "captured", sum(map(int, kernels)), seconds, ""]
    message = re.sub(r"^.*?\.py(:\d+:\d+)?: ", "", p.stderr.split("\n")[0])
    return [name, "refused" if p.returncode in (0, 1) else "crash", "", seconds, message]


def table(rows):
    counts = collections.Counter(r["status"] for r in rows)
    print(f"{len(rows)} graphs: " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    reasons = collections.Counter(re.sub(r" at line \d+", "", r["message"]) for r in rows if r["status"] not in ("captured", "timeout"))
    for reason, n in reasons.most_common():
        print(f"{n:5} {reason[:150]}")
    return 1 if counts["crash"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("check-graphs"))
    parser.add_argument("--only", default="", help="a pattern: of samples")
    parser.add_argument("--number", type=int, default=0, metavar="N", help="N of them, drawn")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn")
    parser.add_argument("--shard", default="0/1", help="I/N: every Nth from the Ith on")
    parser.add_argument("--limit", type=float, default=60, help="seconds of a graph")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin nothing after so long")
    parser.add_argument("--table", action="store_true", help="print the table of what was run")
    given = parser.parse_args()
    begun, results = time.monotonic(), given.out / "graphs.csv"
    given.out.mkdir(parents=True, exist_ok=True)
    folders = {str(p.parent.relative_to(given.samples)).replace("/", "__"): p.parent for p in given.samples.rglob("model.py")}
    names = sorted(n for n in folders if re.search(given.only, n))
    if given.number:
        names = random.Random(given.seed).sample(names, min(given.number, len(names)))
    first, step = map(int, given.shard.split("/"))
    rows = list(csv.DictReader(results.open())) if results.exists() else []
    done = {r["sample"] for r in rows}
    with results.open("a", newline="") as file, concurrent.futures.ThreadPoolExecutor(given.jobs) as workers:
        writer = csv.writer(file)
        if not rows:
            writer.writerow(COLUMNS)

        def run(name):
            return judged(name, folders[name], given) if time.monotonic() - begun < given.seconds else None
        for row in workers.map(run, [] if given.table else [n for n in names[first::step] if n not in done]):
            if row:
                writer.writerow(row)
                file.flush()
                rows.append(dict(zip(COLUMNS, row)))
    return table(rows)


if __name__ == "__main__":
    sys.exit(main())
