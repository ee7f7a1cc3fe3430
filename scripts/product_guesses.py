#!/usr/bin/env python3
"""What the cost model of today says of products that were tuned, against their times.

    make build/tests/cost/cost_model && scripts/product_guesses.py --memory 3352 reports/samples/products_h100.csv

Reads tables of scripts/bench_products.sh, of which each row has the config that won and its time, and writes a row a
product: what the model says of that config over its time, how many configs the model puts in front of it (0: it is the
first guess; empty: it is not among the first --most), and the first guess with what the model says of it. A product
whose winner is far behind, or where the model is far off, is one to time more configs of: scripts/cost_model.py then
says from all trials how good the order is. --memory is the GB/s of the device that was measured. Exit codes as there."""

import argparse
import csv
import sys

from cost_model import Model

KERNELS = {"matmul": "k_mm_0", "bmm": "k_bmm_0"}
COLUMNS = ["workload", "dtype", "precision", "axes", "ours_us", "default_us", "model_over_ours", "in_front", "guess", "guess_us"]


def ask(model, row, most):
    """(the winner's number, the guesses, the first guess's number), or None: the model has no such kernel."""
    model.ask("precision", row["precision"] or "f32")
    said = model.ask("workload", f"workloads/{row['workload']}.py", "fwd", row["dtype"], row["axes"])
    if said != "ok" or model.ask("kernel", KERNELS.get(row["workload"], "")) != "ok":
        return None
    won = int(model.ask("config", row["config"]).split()[0])
    guesses = model.ask("guesses", most).split("\t")
    return won, guesses, int(model.ask("config", guesses[0]).split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--memory", type=float)
    parser.add_argument("--most", type=int, default=64)
    given = parser.parse_args()
    model = Model(given.arch)
    if given.memory:
        model.ask("memory", given.memory)
    asked = []
    for path in given.tables:
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                said = ask(model, row, given.most)
                if said and said[0] >= 0:
                    asked.append((row, *said))
                else:
                    print(f"product_guesses: {row['workload']} {row['axes']}: no such kernel or config", file=sys.stderr)
    costs = model.costs()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row, won, guesses, first in asked:
        place = guesses.index(row["config"]) if row["config"] in guesses else ""
        writer.writerow(
            [row[name] for name in COLUMNS[:6]]
            + [f"{costs[won] / float(row['ours_us']):.3f}", place, guesses[0], f"{costs[first]:.5g}"]
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
