#!/usr/bin/env python3
"""How well the cost model orders configs that were measured, workload by workload.

    make build/tests/cost/cost_model && scripts/cost_model.py suite-results/results/*.csv >reports/samples/ordering_h200.csv

Reads result files, asks the model (build/tests/cost/cost_model) what it says today of every variant that was measured
there, and writes a row a kernel:

    pick_over_best     time of the config that the model puts first, over the best measured one
    default_over_best  of the config that was first when it was measured
    rank_correlation   of what the model says and the times (Spearman)
    near_trials        trials in the model's order until one is within 2 % of the best
    first_over_best    time of the best of the first 16 in the model's order, over the best measured one

The model's numbers were chosen by looking at such times, so it may know these kernels by heart. Therefore the same once
more, in the columns refit_*, with numbers fitted anew to the other workloads alone: each number in turn is made larger
and smaller, and what orders the configs of all other workloads better is kept. How these numbers do on the workloads
that they were fitted to is in fitted_*. Where refit_* is about as good as the model's own columns, the model has not
been made for its judges; where it is worse than fitted_*, fitting more would be. Of a single workload both are empty.

The variants of a tuning run are those that a search asked for: better than most, which makes ordering them harder.
Times of several launches are spans. --memory (of an H200; 3352 of an H100) is what the device's memory can, in GB/s:
configs are ordered by it, too, so say that of the device that was measured. --arch (sm_90a) names the limits that the model gets. --no-refit leaves refit_* and
fitted_* empty. Exit codes: 0 fine, 1 a file is no result file, 2 wrong call, 3 no cost_model was built."""

import argparse
import csv
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WITHIN = 1.02
LEAST = 5  # configs of a kernel that are worth ordering
STEPS = (0.5, 0.8, 1.25, 2.0)
FIRST = 16  # configs that are tried where trials are few
COLUMNS = ["device", "date", "workload", "mode", "dtype", "axes", "kernel", "precision", "configs"]
SCORES = ["pick_over_best", "rank_correlation", "near_trials", "first_over_best"]


class Model:
    """build/tests/cost/cost_model, line by line."""

    def __init__(self, arch):
        program = pathlib.Path(os.environ.get("BUILD", "build")) / "tests/cost/cost_model"
        if not (ROOT / program).exists():
            print(f"cost_model: no '{program}' here: make {program} first", file=sys.stderr)
            sys.exit(3)
        self.process = subprocess.Popen(
            [program, arch], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def costs(self):
        return [float(word) for word in self.ask("costs").split()]

    def numbers(self):
        return [float(word) for word in self.ask("numbers").split()]

    def set(self, i, value):
        self.ask("number", i, repr(value))


# ---- what was measured -------------------------------------------------------------------------------------------------


def read_rows(path):
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        if not {"workload", "kernel", "config", "median_us", "span_us"} <= set(reader.fieldnames or ()):
            print(f"cost_model: '{path}' is no result file", file=sys.stderr)
            sys.exit(1)
        return [r for r in reader if r["role"] == "variant" and r["status"] == "ok" and r["median_us"]]


def read_kernels(paths):
    """{(workload, mode, dtype, axes, kernel, precision): {config: (us, row)}}, the newest time of each config."""
    kernels = {}
    for path in paths:
        for row in read_rows(path):
            key = tuple(row[name] for name in ("workload", "mode", "dtype", "axes", "kernel"))
            key += (row.get("precision") or "f32",)
            us = max(float(row["median_us"]), float(row["span_us"] or 0))
            kernels.setdefault(key, {})[row["config"]] = (us, row)
    return kernels


class Kernel:
    """Configs of one kernel: where they are among all that the model knows, and their times."""

    def __init__(self, key, first, configs):
        self.key, self.first = key, first
        self.us = [us for us, _ in configs]
        row = configs[0][1]
        self.device, self.date = row["device"], row["timestamp"][:10]
        self.best = min(self.us)
        self.ranks = ranks_of(self.us)

    def order(self, costs):
        mine = costs[self.first : self.first + len(self.us)]
        return mine, sorted(range(len(mine)), key=lambda i: (mine[i], i))

    def scores(self, costs):
        mine, order = self.order(costs)
        near = next(n for n, i in enumerate(order, 1) if self.us[i] <= WITHIN * self.best)
        first = min(self.us[i] for i in order[:FIRST]) / self.best
        return self.us[order[0]] / self.best, correlation(ranks_of(mine), self.ranks), near, first

    def loss(self, costs):
        """What is lost by following the model: of its first guesses, the first one counting most, and of its order."""
        mine, order = self.order(costs)
        lost = sum(math.log(self.us[i] / self.best) * weight for i, weight in zip(order, (0.4, 0.2, 0.2)))
        best_of_first = min(self.us[i] for i in order[:5]) / self.best
        return lost + 0.4 * math.log(best_of_first) + 0.02 * (1 - correlation(ranks_of(mine), self.ranks))


def ranks_of(values):
    """From 0; equal ones share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, i = [0.0] * len(values), 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in range(i, j + 1):
            ranks[order[k]] = (i + j) / 2
        i = j + 1
    return ranks


def correlation(a, b):
    """Of equally many ranks; 0 if either does not vary."""
    mean = (len(a) - 1) / 2
    over = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    under = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return over / under if under else 0.0


def know(model, kernels):
    """Tell the model all configs; those that the kernels of today cannot have are left out."""
    known, first, workload = [], 0, None
    for key in sorted(kernels):
        if key[:4] + key[5:] != workload:
            workload = key[:4] + key[5:]
            name, mode, dtype, axes, precision = workload
            model.ask("precision", precision)
            said = model.ask("workload", f"workloads/{name}.py", mode, dtype, axes)
            if said != "ok":
                print(f"cost_model: {name} {axes}: {said}", file=sys.stderr)
        if model.ask("kernel", key[4]) != "ok":
            print(f"cost_model: {key[0]} {key[3]}: there is no kernel {key[4]} any more", file=sys.stderr)
            continue
        configs = [(us, row) for config, (us, row) in kernels[key].items() if not model.ask("config", config).startswith("-1")]
        if len(configs) >= LEAST:
            known.append(Kernel(key, first, configs))
        first += len(configs)
    return known


# ---- fitting -----------------------------------------------------------------------------------------------------------


def is_fitted(value):
    """Not a unit, a guard against rounding, or what says that a config cannot be."""
    return value < 100 and value not in (1.0, 32.0) and not 0.99 < value < 1


def total(kernels, costs):
    return sum(kernel.loss(costs) for kernel in kernels) / len(kernels)


def fit(model, kernels, numbers):
    """Numbers that order these kernels better, by going along one number at a time, twice."""
    now = list(numbers)
    for i, value in enumerate(now):
        model.set(i, value)
    least = total(kernels, model.costs())
    for _ in range(2):
        before = least
        for i in range(len(now)):
            if not is_fitted(numbers[i]):
                continue
            for step in STEPS:
                model.set(i, now[i] * step)
                loss = total(kernels, model.costs())
                if loss < least - 1e-6:
                    least, best = loss, now[i] * step
                    now[i] = best
                    break
            model.set(i, now[i])
        if before - least < 1e-4:
            break
    return now


def refit(model, kernels, numbers):
    """Scores of every kernel with numbers fitted to the other workloads, and of those others."""
    held_out, fitted = {}, {}
    for name in sorted({kernel.key[0] for kernel in kernels}):
        others = [kernel for kernel in kernels if kernel.key[0] != name]
        if not others:
            continue
        fit(model, others, numbers)
        costs = model.costs()
        for kernel in kernels:
            scores = kernel.scores(costs)
            if kernel.key[0] == name:
                held_out[kernel.key] = scores
            else:
                fitted.setdefault(kernel.key, []).append(scores)
    for i, value in enumerate(numbers):
        model.set(i, value)
    means = {key: [sum(column) / len(column) for column in zip(*some)] for key, some in fitted.items()}
    return held_out, means


# ---- the command -------------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", help="result files")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--memory", type=float)
    parser.add_argument("--no-refit", action="store_true")
    given = parser.parse_args()
    model = Model(given.arch)
    if given.memory:
        model.ask("memory", given.memory)
    kernels = know(model, read_kernels(given.results))
    costs, numbers = model.costs(), model.numbers()
    held_out, fitted = ({}, {}) if given.no_refit else refit(model, kernels, numbers)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS + SCORES + ["refit_" + name for name in SCORES] + ["fitted_" + name for name in SCORES])
    for kernel in kernels:
        cells = [kernel.device, kernel.date, *kernel.key, len(kernel.us)]
        for scores in (kernel.scores(costs), held_out.get(kernel.key), fitted.get(kernel.key)):
            cells += [f"{score:.4g}" for score in scores] if scores else [""] * len(SCORES)
        writer.writerow(cells)
    return 0


if __name__ == "__main__":
    sys.exit(main())
