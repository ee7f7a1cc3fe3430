#!/usr/bin/env bash
# report.sh: what the fuzzers have done, as a table in tests/README.md between the lines fuzz:begin and fuzz:end.
#
#   tests/fuzz/report.sh [COUNTS]      default: the sums that `make fuzz` keeps in the build folder
#
# Numbers come from COUNTS, from the logs of `make fuzz-bytes`, and from the folders themselves; none is typed in.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${BUILD:-build}
counts=${1:-$build/fuzz.counts}
[ -f "$counts" ] || {
    echo "report: no $counts: run make fuzz first" >&2
    exit 2
}

# value NAME: a sum of the graph fuzzer.
value() { awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }' "$counts"; }
files() { find "$1" -name "$2" -type f | wc -l; }

table() {
    echo '| fuzzer | what it did |'
    echo '|--------|-------------|'
    echo "| \`make fuzz\` | $(value graphs) graphs, $(value kernels) kernels, $(value configs) kernels emitted under a" \
        "config; $(value emulated) programs run on the emulator, $(value cpu) on the CPU; $(value wild) graphs not" \
        "judged because integers overflow; $(value bugs) bugs in these runs |"
    echo "| \`fuzz/found/\` | $(files tests/fuzz/found '*.graph') graphs that showed a bug, replayed by every" \
        "\`make test\` |"
    for log in "$build"/libfuzzer/corpus/*.log; do
        [ -f "$log" ] || continue
        runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log" | tail -n 1)
        echo "| \`make fuzz-bytes\`, $(basename "$log" .log) | ${runs:-0} inputs in the last run |"
    done
    echo "| \`fuzz/python/\` | $(files tests/fuzz/python '*.py') scripts that print the same as under python3 |"
}

awk -v table="$(table)" '
    /fuzz:end/ { inside = 0 }
    !inside { print }
    /fuzz:begin/ { print table; inside = 1; found = 1 }
    END { exit !found }' tests/README.md >"$build/README.new" || {
    echo "report: tests/README.md has no line fuzz:begin" >&2
    exit 2
}
cat "$build/README.new" >tests/README.md
rm "$build/README.new"
