#!/usr/bin/env bash
# bench_device.sh: everything that one session on a GPU measures, from a built binary; needs no network and no make.
#
#   OUTDIR=out scripts/bench_device.sh
#   OUTDIR=out PARTS="bench cache" ONLY=softmax scripts/bench_device.sh
#
# Parts, run in the order given in PARTS (default: all):
#   bench   every workload in f32 and bf16 at its own sizes
#   cache   softmax twice on a store of its own: a cold run and a cache hit
#   big     shapes that fill the device
#   peer    real PyTorch on some of the above (scripts/torch_peer.py), rows beside ours; skipped without PyTorch
#
# Environment:
#   OUTDIR     (device-results) results/*.csv, logs/, runs.csv with the wall time and exit code of every command, and
#              the store, which starts empty
#   WARPSMITH  (build/warpsmith)   DEVICE (cuda:0)   PYTHON (python3)
#   MODE       (fwd) what is timed: fwd, bwd or train
#   ONLY       a pattern: of the runs, those whose line "workload dtype axes" matches
#   LIMIT      (60) seconds that one command may take
#   TOTAL      (540) seconds after which no further command is started
#
# A command that fails does not stop the others; what failed is listed after the table.
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

out=${OUTDIR:-device-results}
warpsmith=${WARPSMITH:-build/warpsmith}
device=${DEVICE:-cuda:0}
python=${PYTHON:-python3}
parts=${PARTS:-bench cache big peer}
mode=${MODE:-fwd}
only=${ONLY:-}
limit=${LIMIT:-60}
total=${TOTAL:-540}

. scripts/script_head.sh
for part in $parts; do
    case $part in
    bench | cache | big | peer) ;;
    *)
        echo "bench_device: PARTS has no '$part'; it takes: bench cache big peer" >&2
        exit 2
        ;;
    esac
done
need_warpsmith "$warpsmith"
mkdir -p "$out/results" "$out/logs" || exit 3

# ---- what is run: lines "workload dtype [axis=value ...]" ------------------------------------------------------------

cases() {
    case $1 in
    bench)
        local file dtype
        for dtype in f32 bf16; do
            for file in workloads/*.py; do echo "$(basename "$file" .py) $dtype"; done
        done
        ;;
    cache) printf 'softmax bf16\nsoftmax bf16\n' ;;
    big)
        cat <<'END'
softmax bf16 rows=16384 dim=16384
softmax bf16 rows=32768 dim=1024
softmax f32 rows=256 dim=131072
relu_chain f32 rows=8192 dim=8192
layernorm bf16 rows=16384 dim=8192
rmsnorm bf16 rows=16384 dim=8192
gelu_bias bf16 rows=16384 dim=8192
swiglu bf16 rows=16384 dim=14336
mm_softmax bf16 n=2048
linear_gelu bf16 rows=1024 inner=1024 outer=1024
END
        ;;
    peer)
        cat <<'END'
softmax bf16
softmax f32
softmax bf16 rows=16384 dim=16384
relu_chain f32 rows=8192 dim=8192
layernorm bf16
gelu_bias bf16
END
        ;;
    esac
}

# ---- how -------------------------------------------------------------------------------------------------------------

begin=$SECONDS
failures=()
n_runs=0
n_fine=0
[ -s "$out/runs.csv" ] || echo 'part,workload,dtype,axes,seconds,exit' >"$out/runs.csv"

# complaint LOG: the line that says what went wrong.
complaint() { grep -m 1 -E '^(warpsmith|torch_peer)[ a-z]*: ' "$1" || grep -v '^ *$' "$1" | tail -n 1; }

# run PART WORKLOAD DTYPE "AXES" COMMAND...: one command with its log, its wall time and its exit code.
run() {
    local part=$1 workload=$2 dtype=$3 axes=$4 name log start seconds code=0 note=''
    shift 4
    name="$part $workload $dtype${axes:+ $axes}"
    if [ $((SECONDS - begin)) -ge "$total" ]; then
        failures+=("$name: not started, $total s are over")
        return
    fi
    n_runs=$((n_runs + 1))
    log=$out/logs/$(printf '%03d' $n_runs)_${name//[ =]/_}.log
    start=$EPOCHREALTIME
    # In braces, so that the shell's own remark about a killed command is not shown.
    { timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null; } 2>/dev/null || code=$?
    seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }')
    echo "$part,$workload,$dtype,$axes,$seconds,$code" >>"$out/runs.csv"
    case $code in
    0) n_fine=$((n_fine + 1)) ;;
    124 | 137) note="stopped after $limit s" ;;
    *) note="exit $code" ;;
    esac
    printf '%-60s %7.2f s%s\n' "$name" "$seconds" "${note:+  $note}"
    [ $code = 0 ] || failures+=("$name: $note: $(complaint "$log")  ($log)")
}

# bench PART STORE WORKLOAD DTYPE AXIS...
bench() {
    local part=$1 store=$2 workload=$3 dtype=$4 axis axes=()
    shift 4
    for axis; do axes+=(-D "$axis"); done
    WARPSMITH_CACHE=$store run "$part" "$workload" "$dtype" "$*" \
        "$warpsmith" bench "workloads/$workload.py" --device "$device" --dtype "$dtype" --mode "$mode" \
        "${axes[@]}" --results "$out/results" --no-figures
}

peer() {
    local workload=$1 dtype=$2
    shift 2
    run peer "$workload" "$dtype" "$*" \
        "$python" scripts/torch_peer.py --workload "workloads/$workload.py" --device "$device" --dtype "$dtype" \
        --mode "$mode" ${1+--axes "$@"} --results "$out/results"
}

# wanted: of the lines on stdin, those that ONLY matches.
wanted() { grep -E -- "$only" || true; }

rm -f "$out/store.db"* "$out/cache.db"*
for part in $parts; do
    if [ "$part" = peer ] && ! "$python" -c 'import torch' 2>/dev/null; then
        echo "peer: skipped, $python has no torch"
        continue
    fi
    store=$out/store.db
    [ "$part" != cache ] || store=$out/cache.db
    while read -r line; do
        # shellcheck disable=SC2086 # a line is words
        if [ "$part" = peer ]; then peer $line; else bench "$part" "$store" $line; fi
    done < <(cases "$part" | wanted)
done

# ---- what came out ---------------------------------------------------------------------------------------------------

echo
if compgen -G "$out/results/*.csv" >/dev/null; then
    "$python" scripts/program_table.py --runs "$out/runs.csv" "$out"/results/*.csv
fi
printf '\n%d commands in %d s; rows in %s\n' $n_runs $((SECONDS - begin)) "$out/results"
[ ${#failures[@]} -gt 0 ] || exit 0
printf '%d failed:\n' ${#failures[@]}
printf '  %s\n' "${failures[@]}"
[ $n_fine -eq 0 ] || exit 1
exit 3
