#!/usr/bin/env bash
# bench_search.sh: how good the search strategies are: every workload at three shapes.
#
#   OUTDIR=out scripts/bench_search.sh
#   OUTDIR=out PARTS=compare ONLY=softmax scripts/bench_search.sh
#
# Parts, in PARTS (default: both):
#   compare   all configs are tried once; then each strategy runs on these times (warpsmith bench --compare-searches):
#             OUTDIR/searches.csv has a row a kernel and strategy, trials and seconds until 2 % of the best among them
#   default   the default strategy for real, on a store that is empty: OUTDIR/results/*.csv, where the row of the tuned
#             program holds the seconds
#
# Environment: OUTDIR (search-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), DTYPE (bf16),
#   ONLY   a pattern: of the cases, those whose line matches
#   ARGS   () further arguments of bench
#   TOTAL  (540) seconds after which no further case is started
#
# Prints one line a strategy: of all kernels, the median and the 90th percentile of trials until 2 % of the best, the
# median of seconds until then, in how many per cent it never got there, and the geometric mean of what it found over
# the best; then, of the default for real, median and most of the seconds that tuning took.
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

out=${OUTDIR:-search-results}
warpsmith=${WARPSMITH:-build/warpsmith}
device=${DEVICE:-cuda:0}
dtype=${DTYPE:-bf16}
parts=${PARTS:-compare default}
only=${ONLY:-}
total=${TOTAL:-540}
more=${ARGS:-} # split into words on purpose

. scripts/script_head.sh
need_warpsmith "$warpsmith"
mkdir -p "$out/results" "$out/logs" || exit 3

# ---- cases: "workload axis=value ..." --------------------------------------------------------------------------------

cases() {
    local w s
    for w in softmax log_softmax layernorm rmsnorm rmsnorm_residual quantize_rows gelu_bias relu_chain swiglu sum_mean softmax_bwd \
        layernorm_bwd cumsum column_sum; do
        for s in 'rows=4096 dim=4096' 'rows=1024 dim=16384' 'rows=32768 dim=768'; do echo "$w $s"; done
    done
    for s in 'rows=4096 cols=4096' 'rows=16384 cols=1024' 'rows=1000 cols=3000'; do echo "transpose_add $s"; done
    for s in 'rows=4096 vocab=32000' 'rows=8192 vocab=4096' 'rows=1024 vocab=50257'; do echo "cross_entropy $s"; done
    for s in 'batch=64 channels=256 side=28' 'batch=32 channels=64 side=56' 'batch=16 channels=512 side=14'; do
        echo "batchnorm $s"
    done
    for s in 'batch=32 channels=64 size=112' 'batch=8 channels=128 size=56' 'batch=16 channels=32 size=64'; do
        echo "maxpool $s"
    done
    for s in 'seq=2048' 'seq=512' 'seq=1000'; do echo "rope $s"; done
    for s in 'dim=1024' 'dim=768' 'dim=4096'; do echo "embedding $s"; done
    for w in adamw full_sum relu; do for s in 16777216 1048576 10000019; do echo "$w n=$s"; done; done
    for s in 1024 512 256; do
        echo "mm_softmax n=$s"
        echo "linear_gelu rows=$s inner=$s outer=$s"
    done
}

# ---- running ---------------------------------------------------------------------------------------------------------

started=$SECONDS
failed=0 left=0 runs=0

# run_case LOG OPTION... : one bench on an empty store
run_case() {
    local log=$1 args=() word
    shift
    for word in $case_axes; do args+=(-D "$word"); done
    WARPSMITH_CACHE=$(mktemp -d)/store.db
    export WARPSMITH_CACHE
    timeout 60 "$warpsmith" bench "workloads/$workload.py" --device "$device" --dtype "$dtype" --no-figures "${args[@]}" \
        $more "$@" >"$out/logs/$log" 2>&1 || {
        failed=$((failed + 1))
        echo "failed: $workload $case_axes: $(tail -1 "$out/logs/$log")"
    }
    rm -rf "${WARPSMITH_CACHE%/*}"
    runs=$((runs + 1))
}

while read -r workload case_axes; do
    [[ "$workload $case_axes" =~ $only ]] || continue
    for part in $parts; do
        if [ $((SECONDS - started)) -ge "$total" ]; then
            left=$((left + 1))
            continue
        fi
        case $part in
        compare)
            rm -rf "$out/compare"
            run_case "compare_$runs.txt" --compare-searches --results "$out/compare"
            if [ -s "$out/compare/searches.csv" ]; then
                if [ -s "$out/searches.csv" ]; then sed 1d "$out/compare/searches.csv" >>"$out/searches.csv"; else
                    cp "$out/compare/searches.csv" "$out/searches.csv"
                fi
            fi
            ;;
        default) run_case "default_$runs.txt" --results "$out/results" ;;
        *)
            echo "bench_search: PARTS has no '$part'; it takes: compare default" >&2
            exit 2
            ;;
        esac
    done
done < <(cases)
rm -rf "$out/compare"

# ---- the table -------------------------------------------------------------------------------------------------------

# A CSV's columns by name, for awk; no field of these files holds a quote or a comma.
[ -s "$out/searches.csv" ] && awk -F, '
    function at(list, n, p) { asort_(list, n); return list[int(1 + p * (n - 1) + 0.5)] }
    function asort_(a, n, i, j, v) {
        for (i = 2; i <= n; i++) { v = a[i]; for (j = i - 1; j > 0 && a[j] > v; j--) a[j + 1] = a[j]; a[j + 1] = v }
    }
    NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
    {
        s = $col["strategy"]
        if (!(s in n)) order[++kinds] = s
        near = $col["near_trials"]
        n[s]++
        trials[s, n[s]] = near == "" ? 9999 : near
        secs[s, n[s]] = near == "" ? 9999 : $col["near_s"]
        all[s, n[s]] = $col["all_s"]
        never[s] += near == ""
        if ($col["found_us"] != "") logs[s] += log($col["found_us"] / $col["best_us"])
    }
    END {
        printf "%-12s %7s %15s %7s %10s %7s %12s %9s\n", "strategy", "kernels", "trials to 2 %", "p90", "s to 2 %", \
            "never", "found / best", "s in all"
        for (k = 1; k <= kinds; k++) {
            s = order[k]
            for (i = 1; i <= n[s]; i++) { a[i] = trials[s, i]; b[i] = secs[s, i]; c[i] = all[s, i] }
            printf "%-12s %7d %15d %7s %10.2f %6.1f%% %12.3f %9.2f\n", s, n[s], at(a, n[s], 0.5), \
                at(a, n[s], 0.9) == 9999 ? "never" : at(a, n[s], 0.9), at(b, n[s], 0.5), 100 * never[s] / n[s], \
                exp(logs[s] / n[s]), at(c, n[s], 0.5)
        }
    }' "$out/searches.csv"

for f in "$out"/results/*.csv; do
    [ -s "$f" ] && awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
        $col["role"] == "tuned" && $col["tuning_s"] != "" { print $col["tuning_s"], $col["trials"] }' "$f"
done | sort -n | awk '{ s[NR] = $1; trials += $2 }
    END {
        if (!NR) exit
        printf "default for real: %d cases; tuning took %.2f s at the median, ", NR, s[int((NR + 1) / 2)]
        printf "%.2f at the 90th percentile, %.2f at most; ", s[int(0.9 * NR + 0.5)], s[NR]
        printf "%.1f trials on average\n", trials / NR
    }'

echo "$runs runs, $failed failed, $left left out for lack of time; $((SECONDS - started)) s"
[ "$failed" = 0 ] && [ "$left" = 0 ]
