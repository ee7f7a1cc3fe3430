#!/usr/bin/env python3
"""What our kernels move of generated programs, over the least that each has to move. Needs no device.

    scripts/generate_programs.py --out out/programs --seeds 1-60 | scripts/generated_bytes.py
    scripts/generated_bytes.py --arch sm_90a --above 1.1 <cases.txt

Cases are lines of scripts/generate_programs.py. The least is each input read and each output written once. What a kernel
moves is each of its tensors once, too, so that rows which it reads again are not seen here. In turn is what every program moves
over the least, as what reads a reduction of more than the chip holds comes behind it (compiler/loop/in_turn.c).

Exit codes: 0 fine, 1 a program was not compiled, 2 wrong call."""

import argparse
import json
import os
import subprocess
import sys


def explained(arch, path, dtype, mode):
    call = [os.environ.get("WARPSMITH", "build/warpsmith"), "explain", path, "--arch", arch, "--dtype", dtype, "--mode", mode, "--json"]
    done = subprocess.run(call, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--above", type=float, default=0, metavar="RATIO", help="print those above it alone")
    given = parser.parse_args()
    lines, failed = [], 0
    for case in sys.stdin:
        name, path, dtype, mode, *steps = case.split()
        found = explained(given.arch, path, dtype, mode)
        if found is None:
            print(f"generated_bytes: {name} was not compiled", file=sys.stderr)
            failed = 1
            continue
        moved = sum(kernel["bytes"] for kernel in found["kernels"])
        least = found["bytes"]
        lines.append((moved / least, name, len(found["kernels"]), least / 1e6, found["bytes_in_turn"] / least,
                      f"{dtype} {mode} {' '.join(steps)}"))
    print(f"{'ratio':>6}  {'program':14} {'kernels':>7} {'least MB':>10} {'in turn':>7}  steps")
    for line in sorted(lines, reverse=True):
        if line[0] > given.above:
            print("%6.2f  %-14s %7d %10.3f %7.2f  %s" % line)
    return failed


if __name__ == "__main__":
    sys.exit(main())
