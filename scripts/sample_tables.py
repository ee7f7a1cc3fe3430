#!/usr/bin/env python3
"""The tables of README.md and docs/ that sum up a file of reports/samples, in Markdown.

    scripts/sample_tables.py KIND FILE [FILE]
    scripts/sample_tables.py cost FILE --only PATTERN     measures whose name matches; of lookup and capture, too
    scripts/sample_tables.py figure FILE.svg              a figure, and below it what it shows and where that comes from

KIND names the script that wrote the file: torch (check_torch.sh), cost, lookup and capture (bench_cost.sh, ...), repeat
(bench_repeat.sh), sizes (bench_sizes.sh), places (bench_places.py), convolutions (bench_convolutions.sh), products and slower (bench_products.sh:
all of them, and those that are slower than PyTorch's), kernelbench, models and attention (bench_kernelbench.sh, ...),
overlap (bench_overlap.sh), misses (bench_suite.sh; FILE, and that of sizes), counted (bench --profile), searches (bench_search.sh), ordering
(cost_model.py), planted (plant_errors.sh), nights (bench_nights.sh), fused (bench_fused.sh), checked (check_kernelbench.py), opinfo (check_opinfo.py), graphs (check_graphs.py), sums
(bench_sums.py), devices (device_sample.sh), scale (bench_history_scale.sh), kills (make kill-test), generated or
held (bench_generated.sh: its table, its misses.csv). Below each table stands who wrote it, where and when. scripts/readme_tables.sh puts them there. A figure is drawn from the CSV of the same name; index.csv of
reports/samples has its command.
Exit codes: 0 fine, 1 a file is missing or foreign, 2 usage."""

import csv
import fnmatch
import math
import os
import re
import statistics
import sys

sys.dont_write_bytecode = True
import case_table


def table(head, rows):
    """Columns are right-aligned; those whose title ends in '<' left."""
    print("| " + " | ".join(title.removesuffix("<") for title in head) + " |")
    print("|" + "|".join("---" if title.endswith("<") else "---:" for title in head) + "|")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")


def source(script, row, *paths, said="", date=None):
    places = " and ".join(f"[{path}]({path})" for path in paths)
    print(f"\n{script}{said} on {row['device']}, {date or row['date']}; rows in {places}.")


def sourced(script, path):
    """The same of rows that do not say it themselves: index.csv of reports/samples does."""
    with open("reports/samples/index.csv", newline="") as file:
        row = next(r for r in csv.DictReader(file) if r["file"] == os.path.basename(path))
    source(f"`{script}`", row, path)


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def at_90_percent(values):
    return sorted(values)[math.ceil(0.9 * len(values)) - 1]


# ---- one for each kind -------------------------------------------------------------------------------------------------


def torch(path, rows):
    def sums():
        for mode, dtype in sorted({(r["mode"], r["dtype"]) for r in rows}):
            some = [r for r in rows if (r["mode"], r["dtype"]) == (mode, dtype)]
            ok = [r for r in some if r["verdict"] == "ok"]
            worst = max(float(r["max_rel_err"]) / float(r["tolerance"]) for r in ok)
            yield mode, dtype, len({r["workload"] for r in some}), len(some), len(ok), f"{worst:.3f}"

    table(["mode<", "dtype<", "workloads", "outputs and gradients", "agree", "largest error, of its tolerance"], sums())
    source("`scripts/check_torch.sh`", rows[-1], path, said=f" against torch {rows[-1]['torch']}")


def measures(script):
    def show(path, rows):
        limits = (r["limit"].replace("<=", "at most ").replace(">=", "at least ") for r in rows)
        table(["measure<", "value", "limit", "command<"],
              [(r["measure"], f"{r['value']} {r['unit']}", limit, f"`{r['command']}`") for r, limit in zip(rows, limits)])
        said = {name: ", ".join(sorted({r[name] for r in rows})) for name in ("device", "date")}
        source(f"`scripts/{script}`", said, path)

    return show


def repeat(path, rows):
    table(["workload<", "dtype<", "runs", "median µs", "tuned medians apart", "of the middle 90 %", "winners",
           "pairs called different"],
          [(r["workload"], r["dtype"], r["runs"], f"{float(r['median_us']):.2f}", f"{r['apart_pct']} %",
            f"{r['apart_5_95_pct']} %", r["winners"], f"{r['flagged']} of {r['pairs']}") for r in rows])
    source("`scripts/bench_repeat.sh`", rows[0], path)


def sizes(path, rows):
    names = list(dict.fromkeys(r["workload"] for r in rows))
    megabytes = dict.fromkeys(round(float(r["mbytes"])) for r in rows)
    found = {(r["workload"], round(float(r["mbytes"]))): (r["tuned_us"], r["roof_pct"]) for r in rows}
    table(["MB moved"] + [title for n in names for title in (f"{n} µs", "% roof")],
          [[mb] + [cell for n in names for cell in found.get((n, mb), "--")] for mb in megabytes])
    source("`scripts/bench_sizes.sh`", rows[-1], path, said=f" in {rows[-1]['dtype']}")


def places(path, rows):
    table(["elements", "places", "least µs", "a quarter below", "median", "a quarter above", "most µs"],
          [(r["elements"], r["places"], *(f"{float(r[k]):.2f}" for k in ("least_us", "q1_us", "median_us", "q3_us", "most_us")))
           for r in rows])
    source("`scripts/bench_places.py`", rows[-1], path)


def overlap(path, rows):
    table(["program<", "kernels", "launches apart µs", "overlapping µs", "gain", "one CUDA graph µs", "host µs",
           "host µs of a graph"],
          [(f"{r['workload']} {r['mode']} {r['dtype']}", r["kernels"], f"{float(r['apart_us']):.2f}",
            f"{float(r['overlap_us']):.2f}", f"{float(r['gain_pct']):.1f} %", f"{float(r['graph_us']):.2f}",
            f"{float(r['overlap_host_us']):.1f}", f"{float(r['graph_host_us']):.1f}") for r in rows])
    source("`scripts/bench_overlap.sh`", rows[0], path)


def kind(row):
    """The dtype, and where that is f32 by what precision it was multiplied, if not by f32's."""
    precision = row.get("precision") or "f32"
    return row["dtype"] if precision == "f32" else precision


def products(path, rows):
    def sums():
        for dtype in sorted(set(map(kind, rows))):
            some = [float(r["torch_over_ours"]) for r in rows if kind(r) == dtype and r["torch_over_ours"]]
            yield dtype, len(some), f"{geomean(some):.3f}", f"{min(some):.3f}", sum(x >= 1 for x in some)

    table(["dtype<", "products", "PyTorch / ours, geometric mean", "least", "not slower than PyTorch"], sums())
    print()
    def tuned(r, column):
        return f"{float(r[column]):.1f}" if r["tuning_s"] else "-"

    table(["product<", "dtype<", "tuned µs", "first guess µs", "PyTorch µs", "PyTorch / ours", "TFLOP/s", "tuning s"],
          [(f"{r['workload']} {r['axes']}", kind(r), tuned(r, "ours_us"), f"{float(r['default_us']):.1f}",
            f"{float(r['torch_us']):.1f}", r["torch_over_ours"], r["tflops"], tuned(r, "tuning_s"))
           for r in rows if r["torch_us"]])
    source("`scripts/bench_products.sh`", rows[0], path)


def slower(path, rows):
    some = sorted((r for r in rows if r["torch_over_ours"] and float(r["torch_over_ours"]) < 1),
                  key=lambda r: (kind(r), float(r["torch_over_ours"])))
    table(["product<", "dtype<", "PyTorch / ours"], [(f"{r['workload']} {r['axes']}", kind(r), r["torch_over_ours"])
                                                     for r in some])
    source("`scripts/bench_products.sh`", rows[0], path)


def convolutions(path, rows):
    def sums():
        for dtype in sorted(set(map(kind, rows))):
            some = [float(r["best_over_ours"]) for r in rows if kind(r) == dtype and r["best_over_ours"]]
            yield dtype, len(some), f"{geomean(some):.3f}", f"{min(some):.3f}", sum(x < 0.9 for x in some)

    table(["dtype<", "convolutions", "PyTorch / ours, geometric mean", "least", "less than 0.9"], sums())
    print()
    table(["convolution<", "dtype<", "tuned µs", "first guess µs", "PyTorch eager µs", "PyTorch / ours", "TFLOP/s", "tuning s"],
          [(r["name"], kind(r), *(f"{float(r[of]):.1f}" if r[of] else "-" for of in ("ours_us", "default_us", "eager_us")),
            r["best_over_ours"] or "-", r["tflops"] or "-", f"{float(r['tuning_s']):.1f}" if r["tuning_s"] else "-")
           for r in rows if r["eager_us"]])
    source("`scripts/bench_convolutions.sh`", rows[0], path)


def fused(path, rows):
    times = ("ours_us", "default_us", "eager_us", "compile_us", "autotune_us")
    table(["product<", "dtype<", "tuned µs", "first guess µs", "eager µs", "torch.compile µs", "max-autotune µs", "best / ours",
           "TFLOP/s", "% roof"],
          [(r["name"], case_table.kind(r), *(or_dash(r[of]) for of in times), r["best_over_ours"] or "-", or_dash(r["tflops"]),
            or_dash(r["roof_pct"])) for r in rows])
    source("`scripts/bench_fused.sh`", placed(rows), path)


def or_dash(text, digits=1):
    return f"{float(text):.{digits}f}" if text else "-"


def placed(rows):
    """The row that says where and when: of what failed some say it not."""
    return next(r for r in reversed(rows) if r["device"])


def failed(rows):
    """What is not right, with its reason."""
    some = [(r["name"], case_table.kind(r), r["ours"], r["why"].replace("|", "/")) for r in rows if r["ours"] != "right"]
    if some:
        print()
        table(["not right<", "compared<", "ours<", "why<"], some)


def kernelbench(path, rows):
    floors = case_table.floors_of(rows)
    ours = {(r["name"], case_table.kind(r)): float(r["ours_us"]) for r in rows if r["ours_us"]}

    def at_floors(of, ratios):
        """The mean of the same ratios if each of our programs took its floor, and which share of that we have."""
        at = [ratio * ours[name, of] / floors[name, of] for ratio, name in ratios if (name, of) in floors]
        return (f"{geomean(at):.3f}", f"{100 * geomean([r for r, _ in ratios]) / geomean(at):.0f}") if len(at) == len(ratios) > 0 else "--"

    def sums():
        for level, of, way, problems, right, ratios, shares in case_table.fast_rows(rows):
            of_all = [r for r, _ in ratios]
            yield (level, of, way, problems, right, *(f"{share:.2f}" for share in shares.values()),
                   *((f"{geomean(of_all):.3f}", f"{statistics.median(of_all):.3f}", f"{min(of_all):.3f}") if ratios else "---"),
                   *at_floors(of, ratios))

    def floor_of(r):
        key = r["name"], case_table.kind(r)
        return (f"{floors[key]:.1f}", f"{100 * floors[key] / ours[key]:.0f}") if key in floors else "--"

    table(["level<", "compared<", "over PyTorch's<", "problems", "right", *(f"fast_{p:g}" for p in case_table.FASTER),
           "geometric mean", "median", "least", "mean if ours took the floor", "% of it"], sums())
    lost = case_table.losses_of(rows)
    if lost:
        print()
        table(["slower than the best of PyTorch<", "compared<", "best / ours", "ours µs", "% roof", "kernels", "launches of eager"],
              [(r["name"], case_table.kind(r), r["best_over_ours"], or_dash(r["ours_us"]), or_dash(r["roof_pct"]),
                r["kernels"] or "-", r["eager_launches"] or "-") for r in lost])
    failed(rows)
    print()
    table(["problem<", "compared<", "ours µs", "eager µs", "torch.compile µs", "best / ours", "floor µs", "% of the floor"],
          [(r["name"], case_table.kind(r), *(or_dash(r[of]) for of in ("ours_us", "eager_us", "compile_us")),
            r["best_over_ours"] or "-", *floor_of(r)) for r in rows])
    source("`scripts/bench_kernelbench.sh`", placed(rows), path)


def models(path, rows):
    times = ("ours_us", "eager_us", "compile_us", "autotune_us")
    table(["model<", "compared<", "ours µs", "eager µs", "torch.compile µs", "max-autotune µs", "best / ours"],
          [(r["name"], case_table.kind(r), *(or_dash(r[of]) for of in times), r["best_over_ours"] or "-") for r in rows])
    print()
    made = ("ours_mb", "kept_mb", "eager_mb", "compile_mb", "tuning_s", "ours_s", "compile_s", "autotune_s")
    table(["model<", "compared<", "kernels", "launches of eager", "of torch.compile", "MB", "MB made at load", "eager MB", "torch.compile MB", "tuning s",
           "all of bench s", "torch.compile s", "max-autotune s"],
          [(r["name"], case_table.kind(r), *(r[of] or "-" for of in ("kernels", "eager_launches", "compile_launches")),
            *(or_dash(r[of]) for of in made)) for r in rows])
    failed(rows)
    source("`scripts/bench_models.sh`", placed(rows), path)


def attention(path, rows):
    sums = [(of, len(ratios), f"{geomean([r for r, _ in ratios]):.3f}", *min(ratios))
            for of, some in case_table.grouped(rows, case_table.kind).items()
            if (ratios := case_table.ratios_of(some, "best_over_ours"))]
    table(["compared<", "cases", "best of PyTorch / ours, geometric mean", "least", "of<"], sums)
    print()
    table(["case<", "compared<", "ours µs", "TFLOP/s", "% of the rate of products", "best of PyTorch<", "µs", "TFLOP/s", "best / ours"],
          [(r["name"], case_table.kind(r), or_dash(r["ours_us"]), or_dash(r["ours_tflops"]), or_dash(r["ours_of_rate"]),
            r["best_way"] or "-", or_dash(r[case_table.TORCH[r["best_way"]]] if r["best_way"] else ""),
            or_dash(r["best_tflops"]), r["best_over_ours"] or "-") for r in rows])
    print()
    ways = [way for way, column in case_table.TORCH.items() if any(r[column] for r in rows)]
    table(["µs of PyTorch's<", "compared<", *ways],
          [(r["name"], case_table.kind(r), *(or_dash(r[case_table.TORCH[way]]) for way in ways)) for r in rows])
    failed([{**r, "why": r["why"][:200]} for r in rows])
    source("`scripts/bench_attention.sh`", placed(rows), path)


def between(points, x):
    """What a line through (x, y) points, in order, has at x; flat beyond its ends."""
    below = max((p for p in points if p[0] <= x), default=points[0])
    above = min((p for p in points if p[0] >= x), default=points[-1])
    way = (x - below[0]) / (above[0] - below[0]) if above[0] > below[0] else 0
    return below[1] + way * (above[1] - below[1])


def misses(path, rows, sizes_path, sizes_rows):
    plain = sorted((float(r["mbytes"]), float(r["roof_pct"])) for r in sizes_rows if r["workload"] == "relu")

    def number(text, form):
        return format(float(text), form) if text else "-"

    def moved(r):
        return f"{float(r['dram_bytes']) / float(r['bytes']):.2f}" if r["dram_bytes"] and r["bytes"] else "-"

    table(["case<", "MB", "% roof", "relu of as many MB, % roof", "DRAM MB of the kernel / least", "warps", "issue slots %",
           "busiest pipe %<", "main stall %<", "config<"],
          [(r["case"], r["mbytes"], number(r["roof_pct"], ".1f"), f"{between(plain, float(r['mbytes'])):.1f}", moved(r),
            number(r["occupancy"], ".2f"), number(r["issue_pct"], ".0f"), f"{r['pipe']} {number(r['pipe_pct'], '.0f')}",
            f"{r['stall']} {number(r['stall_pct'], '.0f')}", f"`{r['config']}`") for r in rows])
    source("`scripts/bench_suite.sh` and `scripts/bench_sizes.sh`", rows[0], path, sizes_path,
           date=rows[0]["timestamp"][:10])


def counted(path, rows):
    """What the hardware counted, of result rows: of each kernel in its fastest config."""
    def number(text, form, factor=1):
        return format(float(text) * factor, form) if text else "-"

    best = {}
    for r in rows:
        key = tuple(r[name] for name in ("workload", "mode", "dtype", "precision", "axes", "kernel"))
        if r["counters"] and r["median_us"] and (key not in best or float(r["median_us"]) < float(best[key]["median_us"])):
            best[key] = r
    table(["kernel<", "dtype<", "µs", "% roof", "DRAM MB / least", "L2 hit %", "warps %", "issue slots %", "busiest pipe %<",
           "main stall %<", "config<"],
          [(f"{r['workload']} {r['axes']}", r["dtype"] if r["precision"] == "f32" else r["precision"], number(r["median_us"], ".1f"), number(r["roof_pct"], ".1f"),
            f"{float(r['dram_bytes']) / float(r['bytes']):.2f}" if r["dram_bytes"] and float(r["bytes"] or 0) else "-",
            number(r["l2_hit_pct"], ".0f"), number(r["occupancy"], ".0f", 100), number(r["issue_pct"], ".0f"),
            f"{r['pipe']} {number(r['pipe_pct'], '.0f')}", f"{r['stall']} {number(r['stall_pct'], '.0f')}",
            f"`{r['config']}`") for r in best.values()])
    source("`warpsmith bench --profile`", rows[0], path, date=max(r["timestamp"] for r in rows)[:10])


def or_never(value, digits):
    return "never" if math.isinf(value) else f"{value:.{digits}f}"


def searches(path, rows):
    def sums():
        for name in dict.fromkeys(r["strategy"] for r in rows):
            some = [r for r in rows if r["strategy"] == name]
            trials = [float(r["near_trials"] or "inf") for r in some]
            seconds = [float(r["near_s"] or "inf") for r in some]
            most = at_90_percent(trials)
            yield (name, len(some), or_never(statistics.median_low(trials), 0), or_never(most, 0),
                   or_never(statistics.median_low(seconds), 2), f"{100 * sum(map(math.isinf, trials)) / len(trials):.1f} %",
                   f"{geomean(float(r['found_us']) / float(r['best_us']) for r in some if r['found_us']):.3f}",
                   f"{statistics.median(float(r['all_s']) for r in some):.2f}")

    table(["strategy<", "kernels", "trials to 2 %, median", "90th percentile", "seconds to 2 %, median", "never there",
           "found / best, geometric mean", "seconds in all, median"], sums())
    day = rows[-1]["run_id"]
    source("`scripts/bench_search.sh`", rows[0], path, date=f"{day[:4]}-{day[4:6]}-{day[6:8]}")


def ordering(path, rows):
    def sums():
        for name, start in ("as they are", ""), ("fitted to the other workloads", "refit_"), ("the same, on those others",
                                                                                              "fitted_"):
            if not rows[0][start + "pick_over_best"]:  # nothing was fitted to others, as of one workload there are none
                continue
            pick, rank, near = ([float(r[start + column]) for r in rows]
                                for column in ("pick_over_best", "rank_correlation", "near_trials"))
            yield (name, f"{geomean(pick):.3f}", f"{max(pick):.2f}", f"{sum(p <= 1.02 for p in pick)} of {len(pick)}",
                   f"{statistics.median(rank):.2f}", f"{statistics.fmean(near):.2f}", f"{at_90_percent(near):.0f}")

    table(["numbers of the model<", "first guess / best, geometric mean", "worst", "first guess within 2 %",
           "rank correlation, median", "trials to 2 %, mean", "90th percentile"], sums())
    source("`scripts/cost_model.py`", rows[0], path, date=max(r["date"] for r in rows),
           said=f" over {sum(int(r['configs']) for r in rows)} variants of {len(rows)} kernels")


def planted(path, rows):
    def sums():
        for mistake in sorted({r["mistake"] for r in rows}) + ["all"]:
            some = [r for r in rows if mistake in ("all", r["mistake"])]
            yield mistake, len(some), sum(r["caught"] == "yes" for r in some)

    table(["mistake<", "planted", "caught"], sums())
    sourced("scripts/plant_errors.sh", path)


def histories(path, rows):
    def lines():
        for r in rows:
            found = f"{r['found_pct']} % in {r['within']} nights" if r["found"] else "-"
            dated = f"{r['dated_pct']} %" if r["found"] else "-"
            yield r["case"], r["histories"], r["quiet_nights"], r["alarms_per_1000_nights"], found, dated

    table(["history<", "made", "quiet nights", "false alarms in 1,000", "found", "of these dated to within a night"], lines())
    sourced(f"SEED={rows[0]['seed']} scripts/bench_history.sh", path)


def nights(path, rows):
    last = max(int(r["night"]) for r in rows)
    before = [r for r in rows if int(r["night"]) < last]
    table(["program<", "µs", "of nights before", "forced: times as long", "change (95 %)", "runs", "verdict<"],
          [(f"{r['workload']} {r['dtype']} {r['axes']}", or_dash(r["median_us"], 2), or_dash(r["base_us"], 2), r["planted"] or "-",
            f"{float(r['change_pct']):+.1f} % ({float(r['low_pct']):+.1f} to {float(r['high_pct']):+.1f})", r["runs"], r["verdict"])
           for r in rows if int(r["night"]) == last])
    slower = sum(r["verdict"] == "SLOWER" for r in before)
    print(f"\nOf {len(before)} verdicts of the {last - 1} nights before {slower or 'none'} said SLOWER.")
    source("`scripts/bench_nights.sh`", rows[0], path)


def scale(path, rows):
    table(["history<", "files", "rows", "MB", "command<", "index<", "s", "processor s", "others' load", "peak MB"],
          [(r["history"], r["files"], f"{int(r['rows']):,}", f"{int(r['mb']):,}", f"`{r['command']}`", r["index"], r["seconds"],
            r["cpu_seconds"], r["load"], r["peak_mb"]) for r in rows])
    source("`scripts/bench_history_scale.sh`", rows[0], path)


def checked(path, rows):
    def sums():
        for key in sorted({(r["level"], r["mode"], r["dtype"]) for r in rows}):
            some = [r for r in rows if (r["level"], r["mode"], r["dtype"]) == key]
            counts = {status: sum(r["status"] == status for r in some) for status in ("ok", "wrong", "refused", "timeout")}
            yield (*key, len(some), *counts.values())

    table(["level<", "mode<", "dtype<", "files", "right", "called wrong", "refused", "out of time"], sums())
    days = sorted(r["date"] for r in rows)
    source("`scripts/check_kernelbench.py`", rows[0], path, date=days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}")


def opinfo(path, rows):
    statuses = [name for name in rows[0] if name != "operator"]
    total = {name: sum(int(r[name]) for r in rows) for name in statuses}
    whole = sum(all(r[name] == "0" for name in statuses[1:]) for r in rows)
    print(f"Of {len(rows)} operators, {whole} are right in all samples; of {sum(total.values())} samples, "
          + ", ".join(f"{n} are {name}" for name, n in total.items() if n) + ".")
    for name in ("wrong", "crash", "timeout"):
        found = [f"`{r['operator']}`" for r in rows if r[name] != "0"]
        if found:
            print(f"\n{name.capitalize()}: {', '.join(found)}.")
    sourced("scripts/check_opinfo.py --table", path)


def graphs(path, rows):
    counts = {status: sum(r["status"] == status for r in rows) for status in dict.fromkeys(r["status"] for r in rows)}
    print(f"Of {len(rows)} graphs: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items(), key=lambda c: -c[1])) + ".\n")
    reasons = {}
    for r in rows:
        if r["message"]:
            reason = re.sub(r" at line .*", "", r["message"])
            reasons[reason] = reasons.get(reason, 0) + 1
    table(["graphs", "why not<"], [(n, f"`{reason[:120]}`") for reason, n in sorted(reasons.items(), key=lambda c: -c[1])])
    sourced("scripts/check_graphs.py", path)


def sums(path, rows):
    def per_operator():
        for op in dict.fromkeys(r["op"] for r in rows):
            some = [r for r in rows if r["op"] == op]
            worst = max(some, key=lambda r: float(r["error"]))
            over = max(float(r["error"]) / max(float(r["torch_error"]), 1) for r in some)
            yield (op, len(some), f"2^{int(math.log2(max(int(r['n']) for r in some)))}", worst["error"], worst["torch_error"],
                   worst["bound"], f"{over:.2f}", sum(r["ok"] == "1" for r in some))

    table(["operator<", "cases", "most elements", "largest error, units", "PyTorch's there", "bound there",
           "error / PyTorch's, or a unit, at most", "ok"], per_operator())
    source("`scripts/bench_sums.py`", rows[0], path, said=f" beside torch {rows[0]['torch']}")


def kills(path, rows):
    def per_signal():
        for key in sorted({(r["signal"], r["target"], r["disk"]) for r in rows}):
            some = [r for r in rows if (r["signal"], r["target"], r["disk"]) == key]
            yield (*key, len(some), sum(int(r["lost"]) for r in some))

    table(["signal<", "to<", "disk<", "kills", "rows and winners lost"], per_signal())
    sourced("make kill-test", path)


def reference(path, rows):
    """What checks cost at real sizes. Host memory of the command, and of the largest of its other processes."""
    table(["case<", "dtype<", "checks, s", "timing, s", "all of bench, s", "reference<", "host memory, MB", "command, MB", "device's process, MB"],
          [(r["case"], r["dtype"], r["bench_check_s"], r["bench_timing_s"], r["bench_s"], r["reference"], r["peak_mb"],
            r["main_mb"] or "-", r["others_mb"] or "-") for r in rows])
    dates = sorted({r["date"] for r in rows})
    source("`scripts/bench_reference.py`", rows[-1], path, date=" to ".join(sorted({dates[0], dates[-1]})))


def mutants(path, rows):
    """Of those that mean the same as what they replace no test can say anything."""
    same = sum(r["note"] == "equivalent" for r in rows)
    caught = sum(r["status"] == "caught" for r in rows)
    since = sum(r["status"] != "caught" and r["note"].startswith("tests/") for r in rows)
    left = len(rows) - same - caught - since
    share = f"{100 * (caught + since) / (len(rows) - same):.0f}"
    table(["mutants", "mean the same", "caught", "caught by tests written since", "not caught", "% caught"],
          [(len(rows), same, caught, since, left, share)])
    sourced("make mutate", path)


# ---- figures ----------------------------------------------------------------------------------------------------------


def generated(path, rows):
    """The sums of bench_generated.sh's table, and the programs that miss: slower than PyTorch, or large and far from the floor."""
    timed = [r for r in rows if r["ours_us"]]
    beside = [r for r in timed if r["best_over_ours"]]
    large = [r for r in timed if float(r["mbytes"]) >= 50]
    tiny = [r for r in beside if float(r["ours_us"]) < 10]
    best = {r["name"]: float(r["ours_us"]) * float(r["best_over_ours"]) for r in beside}  # of PyTorch, whose ways may fail
    late = sum(float(r["ours_us"]) - best[r["name"]] > 0.3 for r in tiny)
    ratios = [float(r["best_over_ours"]) for r in beside]
    shares = [float(r["roof_pct"]) for r in large]
    in_turn = [float(r["in_turn_pct"] or r["roof_pct"]) for r in large]
    table(["programs<", "how many", "what is counted<", "value"],
          [("beside PyTorch", len(beside), "best of PyTorch over ours, geometric mean", f"{geomean(ratios):.3f}"),
           ("beside PyTorch", len(beside), "under 0.95", sum(ratio < 0.95 for ratio in ratios)),
           ("under 10 µs", len(tiny), "slower than the best of PyTorch by over 0.3 µs", late),
           ("50 MB and up", len(large), "at 90 % of copy speed, by least bytes", sum(share >= 90 for share in shares)),
           ("50 MB and up", len(large), "at 90 %, with what any program reads again", sum(share >= 90 for share in in_turn))])
    print()
    misses = [r for r in timed if float(r["best_over_ours"] or 1) < 0.95 or (r in large and float(r["roof_pct"]) < 80)]
    table(["program<", "dtype<", "mode<", "steps<", "MB", "floor µs", "ours µs", "best of PyTorch µs", "% of the floor",
           "% with what is read again", "launches"],
          [(r["name"], r["dtype"], r["mode"], r["steps"], r["mbytes"], r["floor_us"], r["ours_us"],
            f"{best[r['name']]:.2f}" if r["name"] in best else "-", r["roof_pct"], r["in_turn_pct"] or "-", r["launches"])
           for r in misses])
    sourced("scripts/bench_generated.sh", path)


def held(path, rows):
    """What held the long kernels of programs that missed: how many, and each."""
    limits = {}
    for r in rows:
        limits.setdefault(r["limit"], []).append(r)
    table(["what held it<", "kernels", "of programs"],
          [(limit, len(some), len({r["name"] for r in some})) for limit, some in sorted(limits.items(), key=lambda l: -len(l[1]))])
    print()
    table(["program<", "MB", "best of PyTorch / ours", "% of the floor", "% of its time", "DRAM, % of copy speed", "DRAM MB / least",
           "warps %", "issue slots %", "busiest pipe %<", "main stall %<", "config<"],
          [(r["name"], r["mbytes"], r["best_over_ours"] or "-", r["roof_pct"], r["share_pct"], r["dram_pct"],
            f"{float(r['dram_bytes']) / float(r['bytes']):.2f}", f"{100 * float(r['occupancy']):.0f}", f"{float(r['issue_pct']):.0f}",
            f"{r['pipe']} {float(r['pipe_pct']):.0f}", f"{r['stall']} {float(r['stall_pct']):.0f}", f"`{r['config']}`") for r in rows])
    sourced("scripts/bench_generated.sh", path)


def figure(path):
    """The figure of a bench, or of the suite, with a caption."""
    samples = "reports/samples"
    with open(f"{samples}/index.csv", newline="") as file:
        row = next(r for r in csv.DictReader(file) if fnmatch.fnmatch(os.path.relpath(path, samples), r["file"]))
    rows = path.removesuffix(".svg") + ".csv"
    if not os.path.exists(rows):
        raise OSError(f"{path} has no {rows} to be drawn from")
    if os.path.basename(path).startswith("suite"):
        title = "Time over the floor, of every case of the suite"
        says = "Time over the floor, of ours and PyTorch's, for each case. The line at 1 is the floor."
    elif os.path.basename(path).startswith("devices"):
        title = "One device over the other, for every case"
        says = "Bars: how many times as fast the case is on the newer device; crosses: PyTorch. Left of 1, in red, is slower."
    else:
        title = f"Times of every kernel variant, and of the whole: {os.path.basename(path).removesuffix('.svg')}"
        says = "Left: variants of the kernels, fastest first. Right: the whole program, by way of making it."
    print(f"![{title}]({path})\n\n*{says}* Drawn from [{rows}]({rows}), which `{row['command']}` wrote "
          f"on {row['device']}, {row['date']}.")


def devices(path, rows):
    """What scripts/device_sample.sh has compared: B over A, in sums by dtype and for each case."""
    def sums():
        for dtype in sorted(set(map(kind, rows))):
            some = [r for r in rows if kind(r) == dtype]
            both = [r for r in some if r["torch_b_over_a"]]
            yield (dtype, len(some), f"{geomean([float(r['b_over_a']) for r in some]):.3f}",
                   f"{geomean([float(r['torch_b_over_a']) for r in both]):.3f}" if both else "-",
                   f"{float(some[0]['memory_roofs']):.3f}", f"{float(some[0]['arithmetic_roofs']):.3f}",
                   ", ".join(sorted({r["date_a"][:10] for r in some})), ", ".join(sorted({r["date_b"][:10] for r in some})))

    table(["dtype<", "cases", "ours, B over A", "PyTorch, B over A", "copy bandwidth, B over A", "highest peak, B over A",
           "A of<", "B of<"], sums())
    print()
    table(["case<", "dtype<", "A µs", "B µs", "B over A", "95 %<", "PyTorch", "whose gain<"],
          [(f"{r['workload']} {r['axes']}", kind(r), f"{float(r['a_us']):.1f}", f"{float(r['b_us']):.1f}",
            f"{float(r['b_over_a']):.2f}", f"{float(r['low']):.3f} to {float(r['high']):.3f}" if r["low"] else "not recorded",
            f"{float(r['torch_b_over_a']):.2f}" if r["torch_b_over_a"] else "-", r["reading"]) for r in rows])
    print(f"\nA: {rows[0]['device_a']}; B: {rows[0]['device_b']}.")
    sourced("scripts/device_sample.sh", path)


KINDS = {"devices": devices, "torch": torch, "cost": measures("bench_cost.sh"), "lookup": measures("bench_lookup.sh"),
         "capture": measures("bench_capture.sh"), "repeat": repeat, "sizes": sizes, "places": places, "products": products, "slower": slower,
         "convolutions": convolutions, "kernelbench": kernelbench, "models": models, "attention": attention,
         "planted": planted, "histories": histories, "nights": nights, "fused": fused, "scale": scale, "checked": checked, "opinfo": opinfo, "graphs": graphs, "sums": sums, "kills": kills, "reference": reference, "generated": generated, "held": held,
         "mutants": mutants, "overlap": overlap, "misses": misses, "counted": counted, "searches": searches, "ordering": ordering}


def main(arguments):
    only = None
    if len(arguments) == 4 and arguments[2] == "--only":
        only = re.compile(arguments[3])
        arguments = arguments[:2]
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if len(arguments) < 2 or arguments[0] not in (*KINDS, "figure") or len(arguments) != (3 if arguments[0] == "misses" else 2):
        print(f"usage: sample_tables.py KIND FILE [FILE]; KIND is one of {', '.join(KINDS)}, figure", file=sys.stderr)
        return 2
    given = []
    try:
        if arguments[0] == "figure":
            figure(arguments[1])
            return 0
        for path in arguments[1:]:
            with open(path, newline="") as file:
                given += [path, [r for r in csv.DictReader(file) if not only or only.search(r["measure"])]]
        KINDS[arguments[0]](*given)
    except OSError as error:
        print(f"sample_tables: {error}", file=sys.stderr)
        return 1
    except (KeyError, ValueError, IndexError, StopIteration):
        print(f"sample_tables: {' or '.join(arguments[1:])} is no file of {arguments[0]}, or empty", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
