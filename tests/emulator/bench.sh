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
export LC_ALL=C

build=${BUILD:-build}
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
    cases generated
    cases edges
    distinct=$(sort -u "$tmp/all" | wc -l)
    row 'distinct cases of generated CUDA' "$distinct" cases 'test_compile_generated test_compile_edges'
    row 'CPU time of these' "$(awk '{ s += $1 } END { printf "%.0f", s }' "$tmp/seconds")" s 'test_compile_generated test_compile_edges'
    row 'cases compiled, run and judged' "$(awk -v n="$distinct" '{ s += $1 } END { printf "%.0f", n / s }' "$tmp/seconds")" \
        cases/s 'test_compile_generated test_compile_edges'
} >"$tmp/csv"
cp "$tmp/csv" "$out"
cat "$out"
