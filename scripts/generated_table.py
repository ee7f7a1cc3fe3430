#!/usr/bin/env python3
"""A line for each generated program that was timed: the table of scripts/bench_generated.sh.

    scripts/generated_table.py out/cases.txt out                 out/generated.csv, and the worst of them
    scripts/generated_table.py --missing ours out/cases.txt out  cases that have neither a time nor a failure
    scripts/generated_table.py --losses out/cases.txt out        cases whose counters are wanted, and not there
    scripts/generated_table.py --arch sm_90a --fill FILE.csv out/cases.txt out    columns in_turn and in_turn_pct of a table that is there

Lines of the cases are `name path dtype mode steps...`; rows are in out/results and, with counters, in out/why; what failed
is in out/failed. The floor is the least bytes that the program must move over the copy speed, or seed 0's time, one launch,
if that is longer and not with --least. With --arch, in_turn is what `warpsmith explain` (WARPSMITH, build/warpsmith) says that
every program of the same graph moves, over the least bytes, as what reads a reduction of more than the chip holds comes behind it
(compiler/loop/in_turn.c), and in_turn_pct the share of that floor; of large programs that move more than the least, others have 1.
best_over_ours is the fastest way of PyTorch over ours. The reason of a line is the first that holds:
a failure or a wrong output; bytes that all its kernels together move over the program's; more launches than one that add up
to a small program; the counters of its longest kernel; else that kernel's own share of the roof. With --least the least
time of each row is taken instead of the median: for machines that others use.

Where there are counters, out/misses.csv says of each kernel that takes LONG % and more of a losing program's time what the
hardware counted, and what held it: bandwidth (its DRAM bytes went at NEAR % of copy speed and more: what it loses, it loses by bytes
moved again), issue slots or a pipe that were busy for BUSY % of the time, else the wait that warps spent most of their time in.

Exit codes: 0 fine, 1 a program failed, is wrong, is not judged or was not timed, 2 wrong call."""

import argparse
import csv
import math
import pathlib
import sys

import generated_bytes

WAYS = {"eager": ("torch_eager", ""), "compile": ("torch_compile", "default"),
        "max-autotune": ("torch_compile", "max-autotune-no-cudagraphs")}
OURS = ("eager", "default", "tuned")
COLUMNS = ["name", "dtype", "mode", "steps", "device", "date", "git_rev", "mbytes", "floor_us", "unfused_us", "default_us",
           "ours_us", "torch_eager_us", "torch_compile_us", "torch_max_autotune_us", "best_over_ours", "roof_pct", "launches",
           "moved_over_least", "in_turn", "in_turn_pct", "kernel", "kernel_us", "config", "status", "reason"]
LARGE, TINY = 50, 10  # megabytes moved, us
FAST, SLOW = 90, 0.95  # % of copy speed, of PyTorch's best
MORE = 1.15  # times the least bytes
LONG = 20  # % of the program's time, of its kernels added up
NEAR, BUSY = 85, 70  # % of copy speed, of the cycles
COUNTED = ["kernel", "config", "median_us", "bytes", "dram_bytes", "occupancy", "l2_hit_pct", "issue_pct", "pipe", "pipe_pct", "stall",
           "stall_pct"]
MISSES = ["name", "dtype", "mode", "steps", "device", "date", "git_rev", "mbytes", "best_over_ours", "roof_pct", "share_pct", "dram_pct",
          "limit"] + COUNTED


def read_rows(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Case:
    def __init__(self, line, out, least):
        words = line.split()
        self.line, self.name, self.dtype, self.mode, self.steps = line, words[0], words[2], words[3], " ".join(words[4:])
        self.out, self.time = out, "min_us" if least else "median_us"
        self.rows = [r for r in read_rows(out / "results" / f"{self.name}.csv")
                     if (r["dtype"], r["mode"]) == (self.dtype, self.mode)]
        self.programs = {(r["role"], r["config"] if r["role"] == "torch_compile" else ""): r
                         for r in self.rows if r["kernel"] == "program"}
        if ("default", "") in self.programs:  # of bench --no-search that is what is ours
            self.programs.setdefault(("tuned", ""), self.programs["default", ""])

    def failure(self, of):
        path = self.out / "failed" / f"{self.name}.{of}"
        return " ".join(path.read_text().split()) if path.exists() else ""

    def us(self, role, config=""):
        row = self.programs.get((role, config), {})
        return float(row[self.time]) if row.get("status") == "ok" and row[self.time] else None

    def winners(self, rows):
        """{kernel: the row of the config that was chosen}, else of its fastest."""
        found = {}
        for row in rows:
            if row["role"] == "variant" and row["status"] == "ok" and row[self.time]:
                old = found.get(row["kernel"])
                if not old or (row["is_winner"], -float(row[self.time])) >= (old["is_winner"], -float(old[self.time])):
                    found[row["kernel"]] = row
        return found

    def longest(self):
        return max(self.winners(self.rows).values(), key=lambda r: float(r[self.time]), default=None)

    def launches(self):
        return self.programs["tuned", ""]["config"].count(": ") or 1

    def least_bytes(self):
        return float(self.programs["tuned", ""]["bytes"] or 0)

    def moved(self):
        """What its kernels move, each its own least bytes, over the program's."""
        kernels = self.winners(self.rows)
        least = self.least_bytes()
        return sum(float(r["bytes"] or 0) for r in kernels.values()) / least if kernels and least else math.nan

    def copy_gbps(self):
        return max((float(r["gbps"]) for r in self.rows if r["role"] == "roof" and r["gbps"]), default=None)

    def floor(self, launch):
        """us"""
        copy = self.copy_gbps()
        return max(self.least_bytes() / copy / 1e3, launch or 0) if copy else None

    def best_torch(self):
        return min((us for us in (self.us(*key) for key in WAYS.values()) if us), default=None)

    def status(self):
        if self.failure("ours"):
            return "failed"
        tuned = self.programs.get(("tuned", ""))
        if not tuned:
            return "not timed"
        if tuned["status"] != "ok":
            return tuned["status"]
        return "not judged" if float(tuned["unjudged"] or 0) else "ok"

    def reason(self, line):
        if line["status"] != "ok":
            return self.failure("ours") or line["status"]
        if line["moved_over_least"] and float(line["moved_over_least"]) > MORE:
            return f"{line['launches']} kernels move {line['moved_over_least']} x the least bytes"
        if line["launches"] > 1 and line["ours_us"] < 5 * TINY:
            return f"{line['launches']} launches"
        longest = self.longest()
        if not longest:
            return ""
        counted = self.winners(read_rows(self.out / "why" / f"{self.name}.csv")).get(longest["kernel"])
        if counted and counted.get("counters") == "cupti":
            dram = float(counted["dram_bytes"] or 0) / max(1, float(counted["bytes"] or 0))
            return (f"dram {dram:.2f} x least, occupancy {float(counted['occupancy'] or 0):.2f}, issue {counted['issue_pct']} %, "
                    f"{counted['pipe']} {counted['pipe_pct']} %, waits for {counted['stall']} {counted['stall_pct']} %")
        return f"longest kernel at {float(longest['roof_pct']):.0f} % of its roof" if longest["roof_pct"] else ""

    def counted(self, line):
        """A line for each long kernel of a program that lost."""
        kernels = [r for r in self.winners(read_rows(self.out / "why" / f"{self.name}.csv")).values() if r.get("counters") == "cupti"]
        copy, all_us = self.copy_gbps(), sum(float(r[self.time]) for r in kernels)
        for row in kernels:
            us = float(row[self.time])
            if not copy or 100 * us < LONG * all_us:
                continue
            dram_pct = float(row["dram_bytes"] or 0) / us / 1e3 / copy * 100
            found = {name: line[name] for name in MISSES if name in line} | {name: row[name] for name in COUNTED}
            yield found | {"share_pct": f"{100 * us / all_us:.0f}", "dram_pct": f"{dram_pct:.1f}", "limit": limit(row, dram_pct)}

    def ask_in_turn(self, line, arch):
        """What is read again in any program, of one that is large and moves more than the least."""
        if not line["roof_pct"] or not line["moved_over_least"]:
            return
        again = 1
        if float(line["mbytes"]) >= LARGE and float(line["moved_over_least"]) > MORE:
            found = generated_bytes.explained(arch, self.line.split()[1], self.dtype, self.mode)
            again = found["bytes_in_turn"] / found["bytes"] if found else 1
        line["in_turn"] = f"{again:.2f}"
        line["in_turn_pct"] = f"{again * float(line['roof_pct']):.1f}"

    def table_line(self, launch):
        line = dict.fromkeys(COLUMNS, "")
        line.update(name=self.name, dtype=self.dtype, mode=self.mode, steps=self.steps, status=self.status())
        for way, key in WAYS.items():
            row = self.programs.get(key)
            line[f"torch_{way.replace('-', '_')}_us"] = self.us(*key) or (row["status"] if row else "")
        if self.failure("torch") and not self.best_torch():
            line["torch_eager_us"] = "failed"
        tuned = self.programs.get(("tuned", ""))
        if tuned and tuned["status"] == "ok":
            ours, floor, best = self.us("tuned"), self.floor(launch), self.best_torch()
            line.update(device=tuned["device"], date=tuned["timestamp"][:10], git_rev=tuned["git_rev"], ours_us=ours,
                        mbytes=f"{self.least_bytes() / 1e6:.4g}", launches=self.launches(), unfused_us=self.us("eager") or "",
                        default_us=self.us("default") or "")
            if floor:
                line.update(floor_us=f"{floor:.2f}", roof_pct=f"{100 * floor / ours:.1f}")
            if best:
                line["best_over_ours"] = f"{best / ours:.3f}"
            if not math.isnan(self.moved()):
                line["moved_over_least"] = f"{self.moved():.2f}"
            if longest := self.longest():
                line.update(kernel=longest["kernel"], kernel_us=longest[self.time], config=longest["config"])
        line["reason"] = self.reason(line)
        return line


def limit(row, dram_pct):
    if dram_pct >= NEAR:
        return "bandwidth"
    if float(row["issue_pct"] or 0) >= BUSY:
        return "issue slots"
    if float(row["pipe_pct"] or 0) >= BUSY:
        return f"pipe {row['pipe']}"
    return f"waits for {row['stall']}" if row["stall"] else ""


def is_loss(line):
    slow = line["best_over_ours"] and float(line["best_over_ours"]) < 1
    return slow or line["roof_pct"] and float(line["mbytes"]) >= LARGE and float(line["roof_pct"]) < FAST


def cell(value):
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def summary(lines):
    timed = [l for l in lines if l["best_over_ours"]]
    if timed:
        ratios = [float(l["best_over_ours"]) for l in timed]
        slow = sum(ratio < SLOW for ratio in ratios)
        yield (f"{len(timed)} programs beside PyTorch: best of PyTorch over ours, geometric mean "
               f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, least {min(ratios):.3f}, {slow} under {SLOW}")
        tiny = [l for l in timed if l["ours_us"] < TINY]
        late = [l for l in tiny if float(l["best_over_ours"]) * l["ours_us"] < l["ours_us"] - 0.3]
        if tiny:
            yield f"{len(tiny)} under {TINY} us: {len(late)} slower than the best of PyTorch by more than 0.3 us"
    large = [float(l["roof_pct"]) for l in lines if l["roof_pct"] and float(l["mbytes"]) >= LARGE]
    if large:
        fast = sum(pct >= FAST for pct in large)
        yield f"{len(large)} of {LARGE} MB and up: {fast} at {FAST} % of copy speed, least {min(large):.1f} %"
    turns = [float(l["in_turn_pct"]) for l in lines if l["in_turn_pct"] and float(l["mbytes"]) >= LARGE]
    if turns:
        fast = sum(pct >= FAST for pct in turns)
        yield f"with what any program reads again behind its reductions: {fast} of {len(turns)} at {FAST} %, least {min(turns):.1f} %"
    count = {}
    for line in lines:
        count[line["status"]] = count.get(line["status"], 0) + 1
    peers = sum(any(word in str(l[f"torch_{way.replace('-', '_')}_us"]) for way in WAYS for word in ("error", "wrong", "failed"))
                for l in lines)
    yield f"{len(lines)} programs: {', '.join(f'{n} {status}' for status, n in sorted(count.items()))}; PyTorch failed in {peers}"


def loss(line):
    """The worst come first: what is not right, then by time over PyTorch's, then over the floor."""
    best = float(line["best_over_ours"]) if line["best_over_ours"] else math.inf
    return line["status"] in ("ok", "not timed"), best, float(line["roof_pct"] or 0)


def show(lines, limit):
    head = ["program", "steps", "MB", "floor", "ours", "eager", "compile", "max-auto", "best/ours", "% roof", "reason"]
    rows = []
    for line in sorted((l for l in lines if l["status"] != "not timed"), key=loss)[:limit]:
        rows.append([f"{line['name']} {line['dtype']} {line['mode']}", line["steps"][:40]] + [cell(line[n]) or "-" for n in (
            "mbytes", "floor_us", "ours_us", "torch_eager_us", "torch_compile_us", "torch_max_autotune_us", "best_over_ours",
            "roof_pct")] + [f"{line['reason']}; {line['kernel'][:40]} {line['config']}" if line["kernel"] else line["reason"]])
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(c.ljust(w) if i in (0, 1, 10) else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip())
    for said in summary(lines):
        print(said)


def write_table(path, lines, columns=COLUMNS):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: cell(value) for name, value in line.items()} for line in lines)


def fill(path, cases, arch):
    lines = [dict.fromkeys(COLUMNS, "") | line for line in read_rows(path)]
    by_name = {case.name: case for case in cases}
    for line in lines:
        if line["name"] in by_name:
            by_name[line["name"]].ask_in_turn(line, arch)
    write_table(path, lines)
    for said in summary([line | {"ours_us": float(line["ours_us"] or "inf")} for line in lines]):
        print(said)
    return 0


def is_missing(case, what, ways):
    if what == "ours":
        return not case.failure("ours") and ("tuned", "") not in case.programs
    return case.mode == what and not case.failure("torch") and not all(WAYS[way] in case.programs for way in ways)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", metavar="cases.txt")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--missing", choices=("ours", "fwd", "train"))
    parser.add_argument("--losses", action="store_true")
    parser.add_argument("--ways", default="eager,compile,max-autotune")
    parser.add_argument("--least", action="store_true")
    parser.add_argument("--lines", type=int, default=20)
    parser.add_argument("--arch")
    parser.add_argument("--fill", type=pathlib.Path)
    given = parser.parse_args()
    with sys.stdin if given.cases == "-" else open(given.cases) as file:
        cases = [Case(line, given.out, given.least) for line in file]
    if given.missing:
        print(end="".join(c.line for c in cases if is_missing(c, given.missing, given.ways.split(","))))
        return 0
    # On a CPU what is small is not spread over threads, which is what a launch costs there.
    launch = None if given.least else next((c.us("tuned") for c in cases if c.name == "generated_0"), None)
    if given.fill:
        return fill(given.fill, cases, given.arch)
    lines = [case.table_line(launch) for case in cases]
    if given.losses:
        print(end="".join(c.line for c, l in zip(cases, lines) if is_loss(l) and not (c.out / "why" / f"{c.name}.csv").exists()))
        return 0
    for case, line in zip(cases, lines):
        if given.arch:
            case.ask_in_turn(line, given.arch)
    write_table(given.out / "generated.csv", lines)
    if misses := [miss for case, line in zip(cases, lines) if is_loss(line) for miss in case.counted(line)]:
        write_table(given.out / "misses.csv", misses, MISSES)
    show(lines, given.lines)
    return 0 if all(line["status"] == "ok" for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
