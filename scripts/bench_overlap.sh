#!/usr/bin/env bash
# bench_overlap.sh: what programs of several launches gain by letting them overlap (programmatic dependent launch), and
# as one CUDA graph.
#
#   OUTDIR=out scripts/bench_overlap.sh
#   OUTDIR=out WORKLOADS="softmax layernorm" MODES=train scripts/bench_overlap.sh
#
# The default program of every workload, untuned, from the start of its first launch to the end of its last: with
# launches that overlap, the same as one CUDA graph (WARPSMITH_GRAPH=1), and with WARPSMITH_OVERLAP=0, in turns, and the
# least of each counts. Written: OUTDIR/overlap.csv, a line a program of several kernels (workload, mode, dtype, device,
# date, kernels, apart_us, overlap_us, gain_pct, graph_us, overlap_host_us, graph_host_us: the host's time to submit them),
# which is also printed, and OUTDIR/apart, OUTDIR/overlap, OUTDIR/graph, all rows.
#
# Environment: OUTDIR (overlap-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), DTYPES (bf16), MODES (fwd train),
#   WORKLOADS (all of workloads/), ROUNDS (3), ARGS () further arguments of bench,
#   TOTAL (540) seconds after which no further bench is started
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

out=${OUTDIR:-overlap-results}
warpsmith=${WARPSMITH:-build/warpsmith}
device=${DEVICE:-cuda:0}
workloads=${WORKLOADS:-$(basename -s .py -a workloads/*.py)}
more=${ARGS:-} # split into words on purpose
total=${TOTAL:-540}

. scripts/script_head.sh
need_warpsmith "$warpsmith"
rm -rf "$out/apart" "$out/overlap" "$out/graph"
mkdir -p "$out/apart" "$out/overlap" "$out/graph" || exit 3

started=$SECONDS
failed=0 left=0
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT

# one FOLDER WORKLOAD MODE DTYPE: its rows go to the folder, and how many kernels it has to standard output.
one() {
    # shellcheck disable=SC2086
    WARPSMITH_CACHE=$store/store.db timeout 120 "$warpsmith" bench "workloads/$2.py" --device "$device" --mode "$3" \
        --dtype "$4" --no-search --no-figures --results "$out/$1" $more >"$store/log" 2>&1 || {
        echo "failed: $2 $3 $4: $(tail -1 "$store/log")" >&2
        return 1
    }
    sed -n 's/^graph .*, \([0-9]*\) fused$/\1/p' "$store/log"
}

echo 'workload,mode,dtype,kernels' >"$out/programs.csv"
for dtype in ${DTYPES:-bf16}; do
    for mode in ${MODES:-fwd train}; do
        for w in $workloads; do
            kernels=2
            for ((round = 0; round < ${ROUNDS:-3} && kernels > 1; round++)); do
                if [ $((SECONDS - started)) -ge "$total" ]; then
                    left=$((left + 1))
                    break
                fi
                kernels=$(WARPSMITH_OVERLAP=1 one overlap "$w" "$mode" "$dtype") || { failed=$((failed + 1)) && break; }
                [ "$kernels" -gt 1 ] || break
                [ "$round" = 0 ] && echo "$w,$mode,$dtype,$kernels" >>"$out/programs.csv"
                WARPSMITH_OVERLAP=0 one apart "$w" "$mode" "$dtype" >/dev/null || { failed=$((failed + 1)) && break; }
                WARPSMITH_GRAPH=1 one graph "$w" "$mode" "$dtype" >/dev/null || { failed=$((failed + 1)) && break; }
            done
        done
    done
done

python3 - "$out" <<'END'
import csv, glob, sys

out = sys.argv[1]


def least(folder):
    """Of every program its least time, the host's least, and where and when it was taken."""
    best = {}
    for name in glob.glob(f"{out}/{folder}/*.csv"):
        with open(name, newline="") as file:
            for row in csv.DictReader(file):
                if row["role"] != "default" or not row["median_us"]:
                    continue
                key, us = (row["workload"], row["mode"], row["dtype"]), float(row["span_us"] or row["median_us"])
                host = float(row["host_us"] or "inf")
                known = best.get(key, (us, host))
                best[key] = min(us, known[0]), min(host, known[1]), row["device"], row["timestamp"][:10]
    return best


apart, overlap, graph = least("apart"), least("overlap"), least("graph")
with open(f"{out}/programs.csv", newline="") as file:
    programs = [row for row in csv.DictReader(file)]
print(f"{'program':34} {'kernels':>7} {'apart us':>9} {'overlap us':>10} {'gain':>7} {'graph us':>9} {'host us':>8} "
      f"{'graph':>6}")
with open(f"{out}/overlap.csv", "w", newline="") as file:
    write = csv.writer(file, lineterminator="\n").writerow
    write("workload mode dtype device date kernels apart_us overlap_us gain_pct graph_us overlap_host_us graph_host_us".split())
    for row in programs:
        key = row["workload"], row["mode"], row["dtype"]
        if not all(key in times for times in (apart, overlap, graph)):
            continue
        a, (b, host, device, date), (g, graph_host, _, _) = apart[key][0], overlap[key], graph[key]
        gain = 100 * (a / b - 1)
        write([*key, device, date, row["kernels"], f"{a:.3f}", f"{b:.3f}", f"{gain:.2f}", f"{g:.3f}", f"{host:.2f}",
               f"{graph_host:.2f}"])
        print(f"{' '.join(key):34} {row['kernels']:>7} {a:9.2f} {b:10.2f} {gain:6.2f}% {g:9.2f} {host:8.2f} {graph_host:6.2f}")
END
rm -f "$out/programs.csv"
echo "$failed failed, $left left out for lack of time; $((SECONDS - started)) s"
[ "$failed" = 0 ] && [ "$left" = 0 ]
