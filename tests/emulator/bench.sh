#!/usr/bin/env bash
# bench.sh: what the emulator costs on this machine, and how many kernels it proves.
#
#   tests/emulator/bench.sh                    writes reports/samples/emulator.csv; make emulator-bench builds first
#   OUT=emulator.csv tests/emulator/bench.sh
#
# One row a measure: measure,value,unit,command,device,date. Times are of the CPU, so that a busy machine changes them
# little. A case is a kernel under a config on a shape and dtype; two are the same if one text is launched alike.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C OMP_WAIT_POLICY=passive # idle threads that spin are no cost

build=${BUILD:-build}
proven=${PROVEN:-generated edges gradients move}
out=${OUT:-reports/samples/emulator.csv}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
device=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)
device="${device:-$(uname -m)}, $(nproc) cores"
date=$(date -u +%F)

row() { printf '%s,%s,%s,%s,"%s",%s\n' "$1" "$2" "$3" "$4" "$device" "$date"; }

# cases NAME: run the test of that name; its distinct cases go to $tmp/all, its CPU seconds to $seconds.
cases() {
    local TIMEFORMAT='%U %S'
    { time "$build/tests/unit/test_compile_$1" --list "$tmp/list" >"$tmp/log" 2>&1; } 2>"$tmp/time" || {
        cat "$tmp/log" >&2
        exit 1
    }
    cat "$tmp/list" >>"$tmp/all"
    awk '{ print $1 + $2 }' "$tmp/time" >>"$tmp/seconds"
}

{
    echo measure,value,unit,command,device,date
    "$build/tests/emulator/bench_fiber" | while IFS=, read -r measure value unit; do
        row "$measure" "$value" "$unit" bench_fiber
    done
    for name in $proven; do cases "$name"; done
    distinct=$(sort -u "$tmp/all" | wc -l)
    seconds=$(awk '{ s += $1 } END { printf "%.0f", s }' "$tmp/seconds")
    tests=${proven// / test_compile_}
    row 'distinct cases of generated CUDA' "$distinct" cases "test_compile_$tests"
    row 'CPU time to compile and run and judge them' "$seconds" s "test_compile_$tests"
    row 'proven a second of it' $((distinct / seconds)) cases "test_compile_$tests"
} >"$tmp/csv"
cp "$tmp/csv" "$out"
cat "$out"
