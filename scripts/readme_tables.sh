#!/usr/bin/env bash
# readme_tables.sh: write what is measured or generated in README.md and compiler/README.md, between its markers.
#
#   scripts/readme_tables.sh            rewrite both files
#   scripts/readme_tables.sh --check    change nothing; exit 1 if a file is not what this script writes
#
# A block of a file is
#
#   <!-- begin KIND ARGUMENTS -->  what this script writes  <!-- end -->          (each on lines of its own)
#
# and its KIND one of the functions below. No number between markers is typed by hand. Needs python3, and for the dumps
# a built warpsmith (WARPSMITH, default build/warpsmith) and NVRTC.
# Exit codes: 0 fine, 1 a source of numbers is missing or a file is out of date, 2 wrong call, 3 no warpsmith.
# shellcheck disable=SC2016,SC2317 # backquotes are for Markdown; block_* are called by name
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

warpsmith=${WARPSMITH:-build/warpsmith}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# ---- blocks ----------------------------------------------------------------------------------------------------------

# programs: one table for every folder of reports/samples that holds result files, GPUs (h200) before the CPU.
block_programs() {
    local folder files
    for folder in $(printf '%s\n' reports/samples/*/ | grep -v '/cpu/$') reports/samples/cpu/; do
        files=("$folder"*.csv)
        [ -e "${files[0]}" ] || continue
        scripts/program_table.py --markdown "${files[@]}"
        echo
    done
}

# output FILE: what a command has printed, as it was saved.
block_output() { printf '```text\n%s\n```\n' "$(cat "$1")"; }

# figure FILE...: the first one that is there.
block_figure() {
    local file
    for file; do
        [ -e "$file" ] || continue
        case $file in
        *suite*) printf '![Time over the floor, of every case of the suite](%s)\n' "$file" ;;
        *) printf '![Times of every kernel variant, and of the whole: %s](%s)\n' "$(basename "$file" .svg)" "$file" ;;
        esac
        return
    done
    echo "readme_tables: none of $* is there" >&2
    return 1
}

# torch FILE: what scripts/check_torch.sh has compared with PyTorch, in sums.
block_torch() {
    python3 - "$1" <<'END'
import csv, sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
print("| mode | dtype | workloads | outputs and gradients | agree | largest error, of its tolerance |")
print("|---|---|---:|---:|---:|---:|")
for mode, dtype in sorted({(r["mode"], r["dtype"]) for r in rows}):
    some = [r for r in rows if (r["mode"], r["dtype"]) == (mode, dtype)]
    ok = [r for r in some if r["verdict"] == "ok"]
    worst = max(float(r["max_rel_err"]) / float(r["tolerance"]) for r in ok)
    print(f"| {mode} | {dtype} | {len({r['workload'] for r in some})} | {len(some)} | {len(ok)} | {worst:.3f} |")
r = rows[-1]
print()
print(f"`scripts/check_torch.sh` against torch {r['torch']} on {r['device']}, {r['date']}; rows in [{sys.argv[1]}]({sys.argv[1]}).")
END
}

# measures SCRIPT FILE...: the measures that scripts/SCRIPT has written, if it ever ran.
measures() {
    local file
    for file in "${@:2}"; do
        [ -e "$file" ] || continue
        python3 - "$file" "$1" <<'END'
import csv, sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
print("| measure | value | limit | command |\n|---|---:|---:|---|")
for row in rows:
    limit = row["limit"].replace("<=", "at most ").replace(">=", "at least ")
    print(f"| {row['measure']} | {row['value']} {row['unit']} | {limit} | `{row['command']}` |")
said = {name: ", ".join(sorted({row[name] for row in rows})) for name in ("device", "date")}
print(f"\n`scripts/{sys.argv[2]}` on {said['device']}, {said['date']}; rows in [{sys.argv[1]}]({sys.argv[1]}).")
END
    done
}
# repeat FILE: what scripts/bench_repeat.sh has summed up of A/A runs.
block_repeat() {
    python3 - "$1" <<'END'
import csv, sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
print("| workload | dtype | runs | median µs | tuned medians apart | of the middle 90 % | winners | pairs called different |")
print("|---|---|---:|---:|---:|---:|---:|---:|")
for r in rows:
    print(f"| {r['workload']} | {r['dtype']} | {r['runs']} | {float(r['median_us']):.2f} | {r['apart_pct']} % "
          f"| {r['apart_5_95_pct']} % | {r['winners']} | {r['flagged']} of {r['pairs']} |")
print(f"\n`scripts/bench_repeat.sh` on {rows[0]['device']}, {rows[0]['date']}; rows in [{sys.argv[1]}]({sys.argv[1]}).")
END
}

# sizes FILE: the share of the copy bandwidth that the plainest kernels reach, from scripts/bench_sizes.sh.
block_sizes() {
    python3 - "$1" <<'END'
import csv, sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
names = list(dict.fromkeys(r["workload"] for r in rows))
print("| MB moved | " + " | ".join(f"{n} µs | % roof" for n in names) + " |")
print("|---:|" + "---:|---:|" * len(names))
for size in dict.fromkeys(round(float(r["mbytes"])) for r in rows):
    found = {r["workload"]: r for r in rows if round(float(r["mbytes"])) == size}
    cells = [f"{found[n]['tuned_us']} | {found[n]['roof_pct']}" if n in found else "- | -" for n in names]
    print(f"| {size} | " + " | ".join(cells) + " |")
r = rows[-1]
print(f"\n`scripts/bench_sizes.sh` in {r['dtype']} on {r['device']}, {r['date']}; rows in [{sys.argv[1]}]({sys.argv[1]}).")
END
}

# overlap FILE: what programs of several launches gain by overlapping, and as a graph, from scripts/bench_overlap.sh.
block_overlap() {
    python3 - "$1" <<'END'
import csv, sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
print("| program | kernels | launches apart µs | overlapping µs | gain | one CUDA graph µs | host µs | host µs of a graph |")
print("|---|---:|---:|---:|---:|---:|---:|---:|")
for r in rows:
    print(f"| {r['workload']} {r['mode']} {r['dtype']} | {r['kernels']} | {float(r['apart_us']):.2f} | {float(r['overlap_us']):.2f} "
          f"| {float(r['gain_pct']):.1f} % | {float(r['graph_us']):.2f} | {float(r['overlap_host_us']):.1f} "
          f"| {float(r['graph_host_us']):.1f} |")
print(f"\n`scripts/bench_overlap.sh` on {rows[0]['device']}, {rows[0]['date']}; rows in [{sys.argv[1]}]({sys.argv[1]}).")
END
}

# misses FILE SIZES: what was counted of the suite's misses, from scripts/bench_suite.sh, beside what relu reaches.
block_misses() {
    python3 - "$1" "$2" <<'END'
import csv, sys

rows, sizes = (list(csv.DictReader(open(path, newline=""))) for path in sys.argv[1:])
plain = sorted((float(r["mbytes"]), float(r["roof_pct"])) for r in sizes if r["workload"] == "relu")

def relu(mbytes):
    """Between the sizes that were measured, in a straight line."""
    below = max((p for p in plain if p[0] <= mbytes), default=plain[0])
    above = min((p for p in plain if p[0] >= mbytes), default=plain[-1])
    way = (mbytes - below[0]) / (above[0] - below[0]) if above[0] > below[0] else 0
    return below[1] + way * (above[1] - below[1])

def number(text, form):
    return format(float(text), form) if text else "-"

print("| case | MB | % roof | relu of as many MB, % roof | DRAM MB of the kernel / least | warps | issue slots % | busiest pipe % "
      "| main stall % | config |")
print("|---|---:|---:|---:|---:|---:|---:|---|---|---|")
for r in rows:
    moved = f"{float(r['dram_bytes']) / float(r['bytes']):.2f}" if r["dram_bytes"] and r["bytes"] else "-"
    print(f"| {r['case']} | {r['mbytes']} | {number(r['roof_pct'], '.1f')} | {relu(float(r['mbytes'])):.1f} | {moved} "
          f"| {number(r['occupancy'], '.2f')} | {number(r['issue_pct'], '.0f')} | {r['pipe']} {number(r['pipe_pct'], '.0f')} "
          f"| {r['stall']} {number(r['stall_pct'], '.0f')} | `{r['config']}` |")
print(f"\n`scripts/bench_suite.sh` and `scripts/bench_sizes.sh` on {rows[0]['device']}, {rows[0]['timestamp'][:10]}; rows in "
      f"[{sys.argv[1]}]({sys.argv[1]}) and [{sys.argv[2]}]({sys.argv[2]}).")
END
}

# searches FILE: the strategies, from the rows that warpsmith bench --compare-searches has written.
block_searches() {
    python3 - "$1" <<'END'
import csv, math, statistics, sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
print("| strategy | kernels | trials to 2 %, median | 90th percentile | seconds to 2 %, median | never there "
      "| found / best, geometric mean | seconds in all, median |")
print("|---|---:|---:|---:|---:|---:|---:|---:|")
for name in dict.fromkeys(r["strategy"] for r in rows):
    some = [r for r in rows if r["strategy"] == name]
    trials = sorted(float(r["near_trials"] or "inf") for r in some)
    seconds = sorted(float(r["near_s"] or "inf") for r in some)
    ratio = math.exp(statistics.fmean(math.log(float(r["found_us"]) / float(r["best_us"])) for r in some if r["found_us"]))
    p90 = trials[math.ceil(0.9 * len(trials)) - 1]
    never = 100 * sum(math.isinf(t) for t in trials) / len(trials)
    print(f"| {name} | {len(some)} | {statistics.median_low(trials):.0f} | {'never' if math.isinf(p90) else f'{p90:.0f}'} "
          f"| {statistics.median_low(seconds):.2f} | {never:.1f} % | {ratio:.3f} "
          f"| {statistics.median(float(r['all_s']) for r in some):.2f} |")
date = f"{rows[-1]['run_id'][:4]}-{rows[-1]['run_id'][4:6]}-{rows[-1]['run_id'][6:8]}"
print(f"\n`scripts/bench_search.sh` on {rows[0]['device']}, {date}; rows in [{sys.argv[1]}]({sys.argv[1]}).")
END
}

# ordering FILE: how the cost model orders what was measured, by rows of scripts/cost_model.py.
block_ordering() {
    python3 - "$1" <<'END'
import csv, math, statistics, sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
print("| numbers of the model | first guess / best, geometric mean | worst | first guess within 2 % | rank correlation, median "
      "| trials to 2 %, mean | 90th percentile |")
print("|---|---:|---:|---:|---:|---:|---:|")
for name, start in ("as they are", ""), ("fitted to the other workloads", "refit_"), ("the same, on those others", "fitted_"):
    pick, rank, near = ([float(r[start + c]) for r in rows] for c in ("pick_over_best", "rank_correlation", "near_trials"))
    print(f"| {name} | {math.exp(statistics.fmean(map(math.log, pick))):.3f} | {max(pick):.2f} "
          f"| {sum(p <= 1.02 for p in pick)} of {len(pick)} | {statistics.median(rank):.2f} | {statistics.fmean(near):.2f} "
          f"| {sorted(near)[math.ceil(0.9 * len(near)) - 1]:.0f} |")
print(f"\n`scripts/cost_model.py` over {sum(int(r['configs']) for r in rows)} variants of {len(rows)} kernels on "
      f"{rows[0]['device']}, {max(r['date'] for r in rows)}; rows in [{sys.argv[1]}]({sys.argv[1]}).")
END
}

# suite FILE: scripts/bench_suite.sh's table.
block_suite() { python3 scripts/suite_table.py --markdown "$1"; }

block_cost() { measures bench_cost.sh reports/samples/cost_*.csv; }
block_lookup() { measures bench_lookup.sh reports/samples/lookup_*.csv; }
block_capture() { measures bench_capture.sh reports/samples/capture_*.csv; }

# stage NAME: what one stage makes of a small softmax.
block_stage() {
    local file
    if ! [ -d "$tmp/dump" ]; then
        "$warpsmith" compile workloads/softmax.py --arch sm_90a -D rows=8 -D dim=16 --dump "$tmp/dump" >/dev/null
    fi
    file=$(compgen -G "$tmp/dump/[0-9][0-9]_$1") || {
        echo "readme_tables: the compiler dumps no $1" >&2
        return 1
    }
    echo '```text'
    case $1 in
    # The head that every kernel has is left out.
    *.cu) sed -n '/^extern "C"/,$p' "$file" ;;
    *) sed -e 's/[[:space:]]*$//' "$file" ;;
    esac
    echo '```'
}

# ---- files -----------------------------------------------------------------------------------------------------------

# filled FILE: the file with its blocks written anew.
filled() {
    local line kind arguments inside=''
    while IFS= read -r line; do
        if [ "$line" = '<!-- end -->' ]; then inside=''; fi
        [ -n "$inside" ] || printf '%s\n' "$line"
        if [[ $line =~ ^'<!-- begin '([a-z]+)' '?(.*)' -->'$ ]]; then
            kind=${BASH_REMATCH[1]}
            read -ra arguments <<<"${BASH_REMATCH[2]}"
            inside=$line
            declare -F "block_$kind" >/dev/null || {
                echo "readme_tables: $1: no kind of block is called '$kind'" >&2
                return 1
            }
            "block_$kind" "${arguments[@]}"
        fi
    done <"$1"
    [ -z "$inside" ] || {
        echo "readme_tables: $1: '$inside' has no end" >&2
        return 1
    }
}

check=''
case ${1-} in
'') ;;
--check) check=1 ;;
*)
    echo 'usage: scripts/readme_tables.sh [--check]' >&2
    exit 2
    ;;
esac
if ! [ -x "$warpsmith" ]; then
    echo "readme_tables: no '$warpsmith' here: run make first" >&2
    exit 3
fi

stale=0
for file in README.md compiler/README.md; do
    filled "$file" >"$tmp/new"
    if cmp -s "$tmp/new" "$file"; then continue; fi
    if [ -n "$check" ]; then
        echo "$file is out of date: scripts/readme_tables.sh"
        stale=1
    else
        cat "$tmp/new" >"$file"
        echo "wrote $file"
    fi
done
exit $stale
