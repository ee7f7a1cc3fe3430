#!/usr/bin/env python3
"""A line for each case of scripts/bench_attention.sh: that of scripts/case_table.py, and what it is of the rate of products.

    scripts/attention_table.py out [out ...] >attention.csv

Further columns: pairs (of a query and a key that it sees, of one head), work (floating point operations of the products over
these, of a training step 3.5 times those of a forward), rate_tflops (of the fastest product matrix_rate of the dtype and
precision), ours_tflops and ours_of_rate (per cent), best_way, best_tflops and best_of_rate (PyTorch's fastest). For decode,
bound by memory, ours_gbps: keys and values over the time. Exit codes: 0 fine, 1 a file is missing or no result file, 2 wrong
call."""

import argparse
import sys

sys.dont_write_bytecode = True
import case_table
from torch_workload import exit_with

MORE = ["pairs", "work", "rate_tflops", "ours_tflops", "ours_of_rate", "best_way", "best_tflops", "best_of_rate", "ours_gbps"]
TRAIN = 3.5  # of a forward's two products: two, and five of the gradients
BYTES = {"bf16": 2, "f16": 2, "f32": 4, "f64": 8}


def keys_of(query, queries, keys, causal, window, documents):
    """How many keys a query sees."""
    at = query + keys - queries
    last = at if causal or window else keys - 1
    first = max(0, at - window + 1) if window else 0
    if documents:
        first = max(first, at // documents * documents)
        last = min(last, at // documents * documents + documents - 1)
    return last - first + 1


def axes_of(case):
    return {name: int(value) for name, value in {**case_table.defaults_of(case.peer.path), **case.point}.items()}


def pairs_of(axes):
    of = [axes[name] for name in ("queries", "keys", "causal", "window", "documents")]
    return sum(keys_of(query, *of) for query in range(axes["queries"]))


def rates_of(cases):
    """{(dtype, precision): TFLOP/s of the fastest product}, whose lines get it, too."""
    found = {}
    for case, line in cases:
        times = [line[name] for name in ("ours_us", "eager_us") if name in line]
        if case.name == "matrix_rate":
            axes = axes_of(case)
            line["work"] = 2 * axes["rows"] * axes["inner"] * axes["columns"]
            if times:
                found[line["dtype"], line["precision"]] = line["work"] / min(times) / 1e6
    return found


def with_rates(cases):
    rates = rates_of(cases)
    for case, line in cases:
        if case.name != "matrix_rate":
            axes = axes_of(case)
            line["pairs"] = pairs_of(axes)
            work = 4 * axes["batch"] * axes["heads"] * axes["size"] * line["pairs"]
            line["work"] = int(work * (TRAIN if line["mode"] == "train" else 1))
            if axes["queries"] == 1 and "ours_us" in line:
                moved = 2 * axes["batch"] * axes["kv_heads"] * axes["keys"] * axes["size"] * BYTES[line["dtype"]]
                line["ours_gbps"] = moved / line["ours_us"] / 1e3
        rate = rates.get((line["dtype"], line["precision"]))
        torch = min(((line[column], way) for way, column in case_table.TORCH.items() if column in line), default=(None, ""))
        line["rate_tflops"], line["best_way"] = rate or "", torch[1]
        for who, us in (("ours", line.get("ours_us")), ("best", torch[0])):
            if us:
                line[f"{who}_tflops"] = line["work"] / us / 1e6
                line[f"{who}_of_rate"] = 100 * line[f"{who}_tflops"] / rate if rate else ""
    return [line for _, line in cases]


def shown(lines):
    def cell(value, width, digits=1):
        return f"{value:{width}.{digits}f}" if isinstance(value, float) else "-".rjust(width)

    yield (f"{'case':24} {'ours':11} {'us':>9} {'TFLOP/s':>8} {'% of rate':>9}  {'best of PyTorch':>15} {'us':>9} "
           f"{'TFLOP/s':>8} best/ours")
    for line in lines:
        best = line["best_way"]
        yield (f"{line['name']:24} {line['ours']:11} {cell(line.get('ours_us'), 9)} {cell(line.get('ours_tflops'), 8)} "
               f"{cell(line.get('ours_of_rate'), 9)}  {best or '-':>15} {cell(line.get(case_table.TORCH.get(best)), 9)} "
               f"{cell(line.get('best_tflops'), 8)} {line.get('best_over_ours', '-'):>9}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    case_table.folders_of(parser)
    lines = with_rates(case_table.lines_of(parser.parse_args().out))
    case_table.write(lines, case_table.COLUMNS + MORE)
    for said in [*shown(lines), *case_table.summarize(lines)]:
        print(said, file=sys.stderr)
    return 0


if __name__ == "__main__":
    exit_with("attention_table", main)
