#!/usr/bin/env python3
"""check_kernelbench.py: KernelBench's models, at reduced sizes, each run and checked.

    python3 scripts/check_kernelbench.py PATH --out DIR [--only PATTERN] [--shard 0/2] ...

A model is reduced by halving the numbers behind its class, the largest first, wherever the program that comes of it can
still be captured, until its kernels move and compute little enough. A row says of one
model, mode and dtype whether the check passed: ok (with what it could not judge), wrong, refused (what cannot be
captured or lowered, with the first line of why), timeout. What has a row already is not run again."""

import argparse
import ast
import csv
import os
import pathlib
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import run_cases

COLUMNS = ["level", "file", "mode", "dtype", "sizes", "status", "seconds", "message"]
LEAST = 8  # a smaller number is no size but a kernel's, or a count of heads


def run(command, limit):
    """Its exit code (None: out of time) and what it printed."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace")
    return done.returncode, done.stdout


def slots_of(text):
    """Where the numbers stand that may be halved: [(line, column, end, value)], of the module's own assignments and
    of get_inputs."""
    found = []
    for part in ast.parse(text).body:
        inputs = isinstance(part, ast.FunctionDef) and part.name == "get_inputs"
        if not inputs and not isinstance(part, ast.Assign):
            continue
        for node in ast.walk(part):
            whole = isinstance(node, ast.Constant) and type(node.value) is int
            if whole and node.value >= LEAST and node.lineno == node.end_lineno:
                found.append((node.lineno - 1, node.col_offset, node.end_col_offset, node.value))
    return found


def with_sizes(text, slots, sizes):
    """The text with each slot's value replaced by its size."""
    lines = text.split("\n")
    for (line, first, end, _), size in sorted(zip(slots, sizes), reverse=True):
        lines[line] = lines[line][:first] + str(size) + lines[line][end:]
    return "\n".join(lines)


def cost_of(warpsmith, path, limit):
    """Megabytes and megaflops of the program's kernels, or None if there is none."""
    code, said = run([warpsmith, "explain", str(path), "--mode", "fwd"], limit)
    kernels = re.findall(r", moves ([-0-9.e+]+) MB, computes ([-0-9.e+]+) MFLOP,", said)
    counted = re.search(r"^Kernels: ([0-9]+)$", said, re.MULTILINE)
    if code != 0 or not counted:
        return None
    if len(kernels) != int(counted[1]):
        sys.exit(f"check_kernelbench: explain says no more what each of {counted[1]} kernels moves and computes")
    return sum(float(mb) for mb, _ in kernels), sum(float(flops) for _, flops in kernels)


def is_small(cost, given):
    return cost is not None and cost[0] <= given.megabytes and cost[1] <= given.megaflops


def halved(sizes, which):
    return [size // 2 if which(size, i) and size >= 4 else size for i, size in enumerate(sizes)]


def reduce(given, path, to):
    """Writes the reduced file; returns its sizes as text: halves the largest number alone, or with those that equal it, or
    all of them."""
    text = path.read_text()
    slots = slots_of(text)
    sizes, fixed = [slot[3] for slot in slots], set()
    to.write_text(text)
    cost = cost_of(given.warpsmith, to, given.limit)
    whole = sizes
    while cost is None and max(sizes, default=0) >= 2 * LEAST:  # too much to be captured, perhaps
        sizes = halved(sizes, lambda size, _: size >= 2 * LEAST)
        to.write_text(with_sizes(text, slots, sizes))
        cost = cost_of(given.warpsmith, to, given.limit)
    sizes = whole if cost is None else sizes
    while not is_small(cost, given):
        open_ones = [i for i in range(len(slots)) if i not in fixed and sizes[i] >= 4]
        if not open_ones:
            break
        at = max(open_ones, key=lambda i: sizes[i])
        ways = [lambda _, i: i == at, lambda size, _: size == sizes[at], lambda *_: True]
        for which in ways:
            tried = halved(sizes, which)
            to.write_text(with_sizes(text, slots, tried))
            after = cost_of(given.warpsmith, to, given.limit)
            if after is not None:
                sizes, cost = tried, after
                break
        else:
            fixed.add(at)
    to.write_text(with_sizes(text, slots, sizes))
    return " ".join(f"{slot[3]}:{size}" for slot, size in zip(slots, sizes) if slot[3] != size)


def reduced(given, path):
    """The reduced file and its sizes, made once."""
    folder = given.out / "reduced" / path.parent.name
    folder.mkdir(parents=True, exist_ok=True)
    to, said = folder / path.name, folder / (path.stem + ".sizes")
    if not said.exists():
        said.write_text(reduce(given, path, to))
    return to, said.read_text()


def check(given, path, mode, dtype):
    to, sizes = reduced(given, path)
    begun = time.monotonic()
    command = [given.warpsmith, "run", str(to), "--check", "--device", given.device, "--mode", mode, "--dtype", dtype]
    status, message = run_cases.verdict(*run(command, given.limit), fine="all outputs agree")
    seconds = f"{time.monotonic() - begun:.1f}"
    return dict(zip(COLUMNS, [path.parent.name, path.name, mode, dtype, sizes, status, seconds, message]))


def files_of(given):
    """Of the levels, in their order; of those, this shard's."""
    root = given.path / "KernelBench" if (given.path / "KernelBench").is_dir() else given.path
    found = []
    for level in given.levels.split(","):
        numbered = [p for p in (root / f"level{level}").glob("*.py") if re.match(r"\d+_", p.name)]
        found += sorted(numbered, key=lambda p: int(p.name.split("_")[0]))
    if not found:
        sys.exit(f"check_kernelbench: no models under {root}")
    found = [p for p in found if re.search(given.only, f"{p.parent.name}/{p.name}")]
    return run_cases.of_shard(found, given.shard)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=pathlib.Path, help="of a checkout of KernelBench")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("check-kernelbench"))
    parser.add_argument("--levels", default="1,2,3")
    parser.add_argument("--modes", default="fwd,train")
    parser.add_argument("--dtypes", default="f32,f64")
    parser.add_argument("--only", default="", help="a pattern: of level2/3_Name.py")
    parser.add_argument("--shard", default=(0, 1), type=run_cases.shard, help="I/N: every Nth file from the Ith on")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one run")
    parser.add_argument("--megabytes", type=float, default=16)
    parser.add_argument("--megaflops", type=float, default=100)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    given.warpsmith = os.environ.get("WARPSMITH", "build/warpsmith")
    given.out.mkdir(parents=True, exist_ok=True)
    table = given.out / f"kernelbench_{given.shard[0]}_of_{given.shard[1]}.csv"
    done = set()
    if table.exists():
        with table.open(newline="") as rows:
            done = {(r["level"], r["file"], r["mode"], r["dtype"]) for r in csv.DictReader(rows)}
    counts = {}
    with table.open("a", newline="") as rows:
        writer = csv.DictWriter(rows, COLUMNS, lineterminator="\n")
        if not done and rows.tell() == 0:
            writer.writeheader()
        for path in files_of(given):
            for mode in given.modes.split(","):
                for dtype in given.dtypes.split(","):
                    if (path.parent.name, path.name, mode, dtype) in done:
                        continue
                    row = check(given, path, mode, dtype)
                    writer.writerow(row)
                    rows.flush()
                    counts[row["status"]] = counts.get(row["status"], 0) + 1
                    print(f"{row['level']}/{row['file']} {mode} {dtype}: {row['status']} {row['message']}", flush=True)
    print(", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "nothing left to run")
    return 1 if counts.get("wrong") or counts.get("crashed") else 0


if __name__ == "__main__":
    sys.exit(main())
