#!/usr/bin/env bash
# bench_capture.sh: what capturing scripts costs on this machine: tracing, checking guards, whole runs. No GPU is used.
#
#   scripts/bench_capture.sh                       writes reports/samples/capture_<host architecture>.csv
#   OUT=capture.csv REPEAT=3 scripts/bench_capture.sh
#
# One row a measure, in the columns of scripts/bench_cost.sh, and as there every measure waits for an idle machine and
# the last row says how much of it others have used. A guard check is the fastest of one run's cache hits: all guards
# of an entry, from the frame's own values.
#
# Environment: OUT, REPEAT (5: runs of which the median is taken), WAIT (60: seconds to wait at most).
# Exit codes: 0 fine, 1 a limit is exceeded, 2 wrong call, 3 something cannot run here.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

. scripts/script_head.sh

out=${OUT:-reports/samples/capture_$(uname -m).csv}
repeat=${REPEAT:-5}
wait=${WAIT:-60}
script=bench_capture
make build/warpsmith >&2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export WARPSMITH_CACHE=$tmp/store.db
. scripts/measures.sh
host=$(processor)

run() {
    build/warpsmith run "$@" --device cpu >"$tmp/log" 2>"$tmp/err" </dev/null || {
        echo "bench_capture: exit $? of: warpsmith run $* --device cpu" >&2
        tail -n 5 "$tmp/err" >&2
        exit 3
    }
}

# explained FILE: run it `repeat` times; what --explain says of each, a number a line, in $tmp/ms, us, check and ops.
explained() {
    local i
    rm -f "$tmp"/{ms,us,check,ops}
    for ((i = 0; i < repeat; i++)); do
        run "$1" --explain
        sed -n 's/^Capture: \([0-9.]*\) ms, .*/\1/p' "$tmp/log" >>"$tmp/ms"
        sed -n 's/^Capture: .* ms, \([0-9.]*\) us an operator.*/\1/p' "$tmp/log" >>"$tmp/us"
        sed -n 's/^Cache hits: [1-9][0-9]*, guards checked in \([0-9.]*\) us at best$/\1/p' "$tmp/log" >>"$tmp/check"
        sed -n 's/^Op Count: //p' "$tmp/log" >"$tmp/ops"
    done
    if [ "$(wc -l <"$tmp/ms")" != "$repeat" ] || [ "$(wc -l <"$tmp/check")" != "$repeat" ]; then
        echo "bench_capture: $1 was not captured, or its guards never held again" >&2
        exit 3
    fi
}

file=tests/scripts/bench/transformer_24.py
quiet
explained $file
row "capture of a 24-layer transformer, $(<"$tmp/ops") operators" "$(median <"$tmp/ms")" ms '<=200' "warpsmith run $file --explain"
row 'of it for each operator' "$(median <"$tmp/us")" us '' "warpsmith run $file --explain"
row 'guard check of it, each call' "$(median <"$tmp/check")" us '' "warpsmith run $file --explain"

# A workload, whose values have a budget: seconds of its capture, and the most memory by then.
file=workloads/models/lstm.py
quiet
rm -f "$tmp"/{ms,mb}
for ((i = 0; i < repeat; i++)); do
    WS_LOGS=stages build/warpsmith explain $file >/dev/null 2>"$tmp/err"
    sed -n 's/^\[stages\] capture: \([0-9.]*\) ms, .*/\1/p' "$tmp/err" >>"$tmp/ms"
    sed -n 's/^\[stages\] capture: .*, at most \([0-9]*\) MB so far$/\1/p' "$tmp/err" >>"$tmp/mb"
done
row 'capture of an LSTM of 6 layers, 512 steps' "$(median <"$tmp/ms")" ms '<=1000' "warpsmith explain $file"
row 'memory of it' "$(median <"$tmp/mb")" MB '<=64' "warpsmith explain $file"

file=tests/scripts/bench/small_function.py
quiet
explained $file
row 'guard check of two tensors and a number, each call' "$(median <"$tmp/check")" us '' "warpsmith run $file --explain"

# Scripts compile kernels, so the store must know none of them.
for ((i = 0; i < repeat; i++)); do
    quiet
    rm -f "$tmp"/store.db*
    start=$EPOCHREALTIME
    for file in tests/scripts/cases/*.py; do run "$file"; done
    awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f\n", b - a }' >>"$tmp/seconds"
done
n=$(printf '%s\n' tests/scripts/cases/*.py | wc -l)
row "$n scripts one after another, nothing known" "$(median <"$tmp/seconds")" s '<=15' 'warpsmith run tests/scripts/cases/*.py'

others_row
write_table "$out"
exit $over
