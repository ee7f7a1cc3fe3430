#!/usr/bin/env python3
"""What a check costs at real sizes: seconds of `run`, of `run --check`, and of `bench`, which checks every variant.

    scripts/bench_reference.py --device cuda --out reference.csv [--only 'matmul|conv'] [--no-bench] [--no-run] [--seconds 85] [--logs DIR]

Each case is a workload made on the spot, on a store that starts empty; check_s is `run --check` less `run`, on a store that has
the kernel by then: inputs and kernels are the same, what is left is the reference, its bound, the comparison, and of a program
of several kernels the same for each of them alone. bench_s is all of `bench`, of which it says itself what the reference and all
checks took (bench_check_s), and all timing (bench_timing_s). `reference` says how the reference was made: eval, device_f64 or
sliced. peak_mb is the most host memory that a process of the case has had; main_mb that of the command itself, with what it captures,
lowers, lists and emits, and others_mb that of one of its own: the device's, with the driver's context, or a compiler's, as far as
a look every 20 ms sees them. Rows that --out has of other cases stay there, and with
--seconds no case is begun after so many: calls that are short add up to a table.

With --logs, DIR/CASE.log is what bench says of its stages and of every trial (WS_LOGS=stages,autotune). $WARPSMITH
(build/warpsmith) is run; a command has --limit seconds (100), after which its cell is empty.

Exit codes: 0 all agree, 1 one does not or took too long, 2 usage, 3 no warpsmith."""

import argparse
import csv
import datetime
import glob
import json
import math
import multiprocessing
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

LSTM = """import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.LSTM(128, 256, num_layers=6, batch_first=True)
    def forward(self, x):
        return self.net(x)[0]
def get_inputs():
    return [torch.randn(10, 512, 128)]
def get_init_inputs():
    return []
"""
RESNET = """import torch
import torch.nn as nn
class Block(nn.Module):
    def __init__(self, n_in, n, stride):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(n_in, n, 1, bias=False), nn.BatchNorm2d(n)
        self.c2, self.b2 = nn.Conv2d(n, n, 3, stride, 1, bias=False), nn.BatchNorm2d(n)
        self.c3, self.b3 = nn.Conv2d(n, 4 * n, 1, bias=False), nn.BatchNorm2d(4 * n)
        self.short = nn.Identity()
        if stride != 1 or n_in != 4 * n:
            self.short = nn.Sequential(nn.Conv2d(n_in, 4 * n, 1, stride, bias=False), nn.BatchNorm2d(4 * n))
    def forward(self, x):
        y = torch.relu(self.b1(self.c1(x)))
        y = torch.relu(self.b2(self.c2(y)))
        return torch.relu(self.b3(self.c3(y)) + self.short(x))
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        blocks, n_in = [], 64
        for n, count, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
            for i in range(count):
                blocks.append(Block(n_in, n, stride if i == 0 else 1))
                n_in = 4 * n
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(2048, 1000)
    def forward(self, x):
        y = self.blocks(self.head(x))
        return self.fc(y.mean((2, 3)))
def get_inputs():
    return [torch.randn(64, 3, 224, 224)]
def get_init_inputs():
    return []
"""
CASES = {  # dtype, an expression of x and y or a whole file, and their shapes
    "matmul_1024": ("f32", "x @ y", ["1024, 1024", "1024, 1024"]),
    "matmul_4096": ("f32", "x @ y", ["4096, 4096", "4096, 4096"]),
    "matmul_4096_bf16": ("bf16", "x @ y", ["4096, 4096", "4096, 4096"]),
    "matmul_8192": ("f32", "x @ y", ["8192, 8192", "8192, 8192"]),
    "matmul_8192_bf16": ("bf16", "x @ y", ["8192, 8192", "8192, 8192"]),
    "conv3x3_16x16x512x1024": ("f32", "F.conv2d(x, y, padding=1)", ["16, 16, 512, 1024", "128, 16, 3, 3"]),
    "sdpa_32x32x512x1024": ("f32", "F.scaled_dot_product_attention(x, y, x)", ["32, 32, 512, 1024", "32, 32, 512, 1024"]),
    "conv_transpose3d_8x48x64": ("f32", "F.conv_transpose3d(x, y)", ["8, 48, 64, 64, 64", "48, 48, 3, 3, 3"]),
    "softmax_4096x65536": ("f32", "torch.softmax(x, -1)", ["4096, 65536"]),
    "softmax_4096x393216": ("f32", "torch.softmax(x, -1)", ["4096, 393216"]),
    "lstm_6x512": ("f32", LSTM, []),
    "resnet50_64": ("f32", RESNET, []),
}
COLUMNS = ["device", "case", "dtype", "run_s", "run_check_s", "check_s", "bench_s", "bench_check_s", "bench_timing_s", "reference",
           "peak_mb", "main_mb", "others_mb", "agrees", "date"]
WORKLOAD = """import torch
import torch.nn.functional as F
def f({names}):
    return {text}
def get_inputs():
    return [{inputs}]
"""


def peak_of(pid):
    """The most memory that a process has had so far, in MB; 0: it is no more."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def children_of(pid):
    """All that it has begun, theirs too."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path) as file:
                found += [int(child) for child in file.read().split()]
        except OSError:
            pass
    return found + [grandchild for child in found for grandchild in children_of(child)]


class Place:
    def __init__(self, folder, limit):
        self.folder, self.limit = folder, limit
        self.main = self.others = 0  # MB
        self.env = {**os.environ, "WARPSMITH_CACHE": os.path.join(folder, "store.db")}

    def watch(self, process):
        while process.poll() is None:
            self.main = max(self.main, peak_of(process.pid))
            self.others = max([self.others, *map(peak_of, children_of(process.pid))])
            time.sleep(0.02)

    def seconds(self, command, log=None):
        """And what it wrote. None: it took too long, or failed, with what it said."""
        env = {**self.env, "WS_LOGS": "stages,autotune"} if log else self.env
        begun = time.monotonic()
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=self.folder)
            threading.Thread(target=self.watch, args=(process,), daemon=True).start()
            out, err = process.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired:
            process.kill()
            keep_log(log, process.communicate()[1])
            return None, f"more than {self.limit} s"
        took = time.monotonic() - begun
        keep_log(log, err)
        return (took, out) if process.returncode == 0 else (None, err.strip()[-200:])


def keep_log(path, text):
    if path:
        with open(path, "w") as file:
            file.write(text)


def said_of_itself(output):
    """What `bench --json` says of its checks and its timing, and of the reference."""
    if not output:
        return ["", "", ""]
    rows = json.loads(output)["rows"]
    tuned = next(row for row in rows if row["role"] == "tuned")
    return [f"{tuned['all_check_s']:.2f}", f"{tuned['all_timing_s']:.2f}", tuned["reference"]]


def measure(limit, warpsmith, name, device, run, bench, log):
    """Cells of the case, whether it agrees, and MB: of any process, of the main one, of others."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, limit)
        cells, agrees = measure_in(place, warpsmith, name, device, run, bench, log)
    return cells, agrees, [resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, place.main, place.others]


def measure_in(place, warpsmith, name, device, run, bench, log):
    dtype, text, shapes = CASES[name]
    names = ["x", "y"][:len(shapes)]
    path = os.path.join(place.folder, "f.py")
    with open(path, "w") as file:
        file.write(text if "\n" in text else WORKLOAD.format(names=", ".join(names), text=text, inputs=", ".join(f"torch.randn({s})" for s in shapes)))
    given = [path, "--device", device, "--dtype", dtype, "--limit-memory", "0"]
    plain = checked = None
    said = wrong = ""
    if run:
        place.seconds([warpsmith, "run", *given])  # compiles
        plain, said = place.seconds([warpsmith, "run", *given])
        checked, wrong = place.seconds([warpsmith, "run", *given, "--check"])
    benched, why = place.seconds([warpsmith, "bench", *given, "--no-figures", "--json"], log) if bench else (None, "")
    failed = [text for took, text in ((plain, said), (checked, wrong), (benched, why)) if took is None and text]
    for what in failed:
        print(f"{name}: {what}", file=sys.stderr)
    check = checked - plain if plain and checked else None
    times = [f"{t:.2f}" if t is not None else "" for t in (plain, checked, check, benched)]
    return [dtype, *times, *said_of_itself(why if benched else "")], not failed


def rows_of(path, device):
    """By case, of that device, if the file is one of these tables."""
    if not os.path.exists(path):
        return {}
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    return {row[1]: row for row in rows[1:] if row[0] == device} if rows and rows[0] == COLUMNS else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=100)
    parser.add_argument("--no-bench", action="store_true")
    parser.add_argument("--no-run", action="store_true")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--logs")
    given = parser.parse_args()
    warpsmith = os.path.abspath(os.environ.get("WARPSMITH", "build/warpsmith"))
    if not os.access(warpsmith, os.X_OK):
        print(f"bench_reference: no '{warpsmith}' here: run make first", file=sys.stderr)
        return 3
    name = f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores"
    if given.device.startswith("cuda"):
        index = given.device.partition(":")[2] or "0"  # of several GPUs each has a line
        name = subprocess.run(["nvidia-smi", "-i", index, "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    begun, failed, out = time.monotonic(), 0, os.path.abspath(given.out)
    kept, done = rows_of(out, name), 0
    logs = given.logs and os.path.abspath(given.logs)
    if logs:
        os.makedirs(logs, exist_ok=True)
    for case in CASES:
        if not re.search(given.only, case) or time.monotonic() - begun > given.seconds:
            continue
        with multiprocessing.Pool(1) as own:  # of which the memory is asked for
            cells, agrees, peaks = own.apply(measure, (given.limit, warpsmith, case, given.device, not given.no_run, not given.no_bench, logs and os.path.join(logs, case + ".log")))
        failed, done = failed + (not agrees), done + 1
        kept[case] = [name, case, *cells, *(f"{peak:.0f}" for peak in peaks), int(agrees), f"{datetime.date.today()}"]
        print(" ".join(map(str, kept[case])), flush=True)
        with open(out, "w", newline="") as file:  # what there is, if it is stopped
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *(kept[c] for c in CASES if c in kept)])
    print(f"bench_reference: {done} cases on {name}, {failed} do not agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
