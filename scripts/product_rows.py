#!/usr/bin/env python3
"""Tables of products (scripts/bench_products.sh) as result rows, which `warpsmith report` compares across devices.

    scripts/product_rows.py reports/samples/products_h100.csv reports/samples/products_h200.csv > rows.csv

A table has medians alone: n, intervals and bytes stay empty, "not recorded" in the report."""
import csv
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# product's column: role; torch_us is that of the fastest way it was timed in
ROLES = (("ours_us", "tuned"), ("default_us", "default"), ("torch_us", "torch_eager"))


def columns():
    text = open(os.path.join(ROOT, "reports", "columns.def"), encoding="utf-8").read()
    names = re.findall(r"^COLUMN\(\w+, (\w+)\)", text, re.M)
    schema = re.findall(r"^SCHEMA\((\d+), (\w+)\)", text, re.M)[-1]
    return names[: names.index(schema[1]) + 1], schema[0]


def rows(path, schema):
    for product in csv.DictReader(open(path, encoding="utf-8", newline="")):
        for column, role in ROLES:
            if not product.get(column) or (role == "tuned" and not product["trials"]): # a first guess is not tuned
                continue
            us = float(product[column])
            yield {"schema": schema, "run_id": os.path.basename(path), "timestamp": product["date"],
                   "device": product["device"], "workload": product["workload"], "mode": "fwd",
                   "dtype": product["dtype"], "axes": product["axes"], "kernel": "program",
                   "config": product["config"] if role == "tuned" else "", "status": "ok", "role": role,
                   "is_winner": "0", "median_us": f"{us:.7g}", "flops": product["flops"],
                   "tflops": f"{float(product['flops']) / us / 1e6:.7g}",
                   "precision": product.get("precision") or "f32",
                   "trials": product["trials"] if role == "tuned" else "",
                   "tuning_s": product["tuning_s"] if role == "tuned" else ""}


def main(paths):
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    names, schema = columns()
    out = csv.DictWriter(sys.stdout, names, restval="", lineterminator="\n")
    out.writeheader()
    for path in paths:
        try:
            out.writerows(rows(path, schema))
        except (OSError, KeyError, ValueError) as error:
            print(f"product_rows.py: {path}: {error!r}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
