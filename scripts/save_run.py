"""What the scripts that compare results with exact ones share: a workload made on the spot, computed by `warpsmith run --save`,
whose inputs and outputs come back as arrays; PyTorch, where there is one; the name of the device; and
how rows are written and reported."""

import argparse
import csv
import os
import platform
import subprocess
import sys

import numpy


def arguments(doc, most):
    """The options that all of them take; most: the default of --most."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", required=True)
    parser.add_argument("--most", type=int, default=most)
    parser.add_argument("--only", default="")
    return parser


def warpsmith(script):
    """$WARPSMITH or build/warpsmith; None, after a message, if it is not there."""
    path = os.environ.get("WARPSMITH", "build/warpsmith")
    if os.access(path, os.X_OK):
        return path
    print(f"{script}: no '{path}' here: run make first", file=sys.stderr)
    return None


def torch_and_place(device):
    """PyTorch or None, where it computes, and what the device is called."""
    try:
        import torch
    except ImportError:
        torch = None
    place = "cuda" if device.startswith("cuda") else "cpu"
    on_gpu = torch and place == "cuda"
    name = torch.cuda.get_device_name() if on_gpu else f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores"
    return torch, place, name


def run(binary, folder, device, text, names, case, options=()):
    """Arrays of these names, which the workload of that text reads and makes; case: what a failure is told of; options: more of
    the command's."""
    path, saved = os.path.join(folder, "f.py"), os.path.join(folder, "saved")
    with open(path, "w") as file:
        file.write(text)
    ran = subprocess.run([binary, "run", path, "--device", device, "--save", saved, *options], capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"{case}: {ran.stderr.strip()[-300:]}")
    return [numpy.load(os.path.join(saved, f"{name}.npy")) for name in names]


def report(script, out, columns, rows, device):
    """Write the rows, print those that are not ok, up to that column. Returns the exit code."""
    ok = columns.index("ok")
    wrong = [row for row in rows if not row[ok]]
    with open(out, "w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    for row in wrong:
        print(" ".join(map(str, row[:ok + 1])))
    print(f"{script}: {len(rows)} cases on {device}, {len(wrong)} not ok")
    return 1 if wrong else 0
