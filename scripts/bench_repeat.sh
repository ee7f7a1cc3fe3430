#!/usr/bin/env bash
# bench_repeat.sh: does the same measurement say the same? A/A runs of whole benches, each on a store of its own.
#
#   OUTDIR=out scripts/bench_repeat.sh
#   OUTDIR=out RUNS=5 WORKLOADS="softmax rope" scripts/bench_repeat.sh
#
# Every run tunes from nothing, so search, winner and times are all made anew. Written: OUTDIR/repeat.csv, a row a run
# (workload, run, winner's configs, tuned_us, ci_us, default_us, tuning_s), OUTDIR/results/WORKLOAD.csv, all rows, and
# OUTDIR/summary.csv, what is printed: a line a workload with its runs, how far the tuned medians lie apart (largest over smallest, and the same with the
# largest and the smallest 5 % left out), the distinct winners, and of all pairs of runs how many `warpsmith compare`
# calls faster or slower: of identical code that should be none.
#
# Environment: OUTDIR (repeat-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), DTYPE (bf16), RUNS (20),
#   WORKLOADS (softmax layernorm gelu_bias rmsnorm_residual rope cumsum), PAIRS (all) pairs compared a workload,
#   ARGS () further arguments of bench, TOTAL (540) seconds after which no further run is started
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

out=${OUTDIR:-repeat-results}
warpsmith=${WARPSMITH:-build/warpsmith}
device=${DEVICE:-cuda:0}
dtype=${DTYPE:-bf16}
runs=${RUNS:-20}
workloads=${WORKLOADS:-softmax layernorm gelu_bias rmsnorm_residual rope cumsum}
most_pairs=${PAIRS:-100000}
more=${ARGS:-} # split into words on purpose
total=${TOTAL:-540}

. scripts/script_head.sh
need_warpsmith "$warpsmith"
mkdir -p "$out/results" || exit 3

started=$SECONDS
failed=0 left=0

# ---- runs ------------------------------------------------------------------------------------------------------------

# Workloads in turns, so that what drifts meets all of them alike.
for run in $(seq "$runs"); do
    for w in $workloads; do
        if [ $((SECONDS - started)) -ge "$total" ]; then
            left=$((left + 1))
            continue
        fi
        store=$(mktemp -d)
        WARPSMITH_CACHE=$store/store.db timeout 60 "$warpsmith" bench "workloads/$w.py" --device "$device" \
            --dtype "$dtype" --no-figures --results "$out/results" $more >"$store/log" 2>&1 || {
            failed=$((failed + 1))
            echo "failed: $w, run $run: $(tail -1 "$store/log")"
        }
        rm -rf "$store"
    done
done

# ---- repeat.csv ------------------------------------------------------------------------------------------------------

echo 'workload,run_id,config,tuned_us,ci_us,default_us,tuning_s' >"$out/repeat.csv"
for w in $workloads; do
    [ -s "$out/results/$w.csv" ] && awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
        $col["role"] == "default" { dflt[$col["run_id"]] = $col["median_us"] }
        $col["role"] == "tuned" {
            r = $col["run_id"]
            print $col["workload"] "," r "," $col["config"] "," $col["median_us"] "," $col["ci_us"] "," dflt[r] "," \
                $col["tuning_s"]
        }' "$out/results/$w.csv" >>"$out/repeat.csv"
done

# ---- the table -------------------------------------------------------------------------------------------------------

# How many pairs of a workload's runs are called different.
flagged() {
    local w=$1 ids pairs=0 flagged=0 i j
    mapfile -t ids < <(awk -F, -v w="$w" '$1 == w { print $2 }' "$out/repeat.csv")
    for ((i = 0; i < ${#ids[@]}; i++)); do
        for ((j = i + 1; j < ${#ids[@]} && pairs < most_pairs; j++)); do
            pairs=$((pairs + 1))
            "$warpsmith" compare --base "$out/results/$w.csv@${ids[i]}" --new "$out/results/$w.csv@${ids[j]}" \
                >"$out/compare.txt" 2>&1
            grep -qwE 'FASTER|SLOWER' "$out/compare.txt" && flagged=$((flagged + 1))
        done
    done
    rm -f "$out/compare.txt"
    echo "$flagged $pairs"
}

echo 'workload,dtype,device,date,runs,median_us,apart_pct,apart_5_95_pct,winners,flagged,pairs' >"$out/summary.csv"
printf '%-18s %5s %10s %9s %9s %8s %16s\n' workload runs 'median us' 'apart' '5-95 %' winners 'flagged of pairs'
all_flagged=0 all_pairs=0
for w in $workloads; do
    read -r f p < <(flagged "$w")
    all_flagged=$((all_flagged + f)) all_pairs=$((all_pairs + p))
    about=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
        { print $col["dtype"] "," $col["device"] "," substr($col["timestamp"], 1, 10); exit }' "$out/results/$w.csv")
    awk -F, -v w="$w" '$1 == w { print $4 "," $3 }' "$out/repeat.csv" | sort -t, -n | awk -F, -v w="$w" -v f="$f" -v p="$p" -v about="$about" -v csv="$out/summary.csv" '
        { t[NR] = $1; if (!($2 in seen)) { seen[$2] = 1; winners++ } }
        END {
            if (!NR) exit
            lo = 1 + int(0.05 * NR); hi = NR - int(0.05 * NR)
            printf "%s,%s,%d,%.3f,%.2f,%.2f,%d,%d,%d\n", w, about, NR, t[int((NR + 1) / 2)], 100 * (t[NR] / t[1] - 1), \
                100 * (t[hi] / t[lo] - 1), winners, f, p >>csv
            printf "%-18s %5d %10.2f %8.2f%% %8.2f%% %8d %9d of %d\n", w, NR, t[int((NR + 1) / 2)], \
                100 * (t[NR] / t[1] - 1), 100 * (t[hi] / t[lo] - 1), winners, f, p
        }'
done
echo "flagged: $all_flagged of $all_pairs comparisons of identical code"
echo "$failed failed, $left left out for lack of time; $((SECONDS - started)) s"
[ "$failed" = 0 ] && [ "$left" = 0 ]
