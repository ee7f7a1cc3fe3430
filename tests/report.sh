#!/usr/bin/env bash
# report.sh: what the tests prove, as tables in tests/README.md between the lines "NAME:begin" and "NAME:end".
#
#   tests/report.sh [COUNTS]      default: the sums that `make fuzz` keeps in the build folder
#
#   cases      reports/samples/emulator.csv, which tests/emulator/bench.sh has written
#   fuzz       COUNTS, python.counts beside it, the logs of `make fuzz-bytes`, and the folders themselves
#   mutants    reports/samples/mutants.csv, which make mutate CSV=reports/samples/mutants.csv has written
#   coverage   the summary that scripts/coverage.sh left in the build folder
#
# No number is typed in. A table whose source is missing stays as it is, and so does a row of the fuzzers.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BUILD:-build}
counts=${1:-$build/fuzz.counts}
readme=tests/README.md

# value FILE NAME: a sum in a file of "name number" lines.
value() { awk -v name="$2" '$1 == name { n = $2 } END { print n + 0 }' "$1" 2>/dev/null || echo 0; }
files() { find "$1" -name "$2" -type f | wc -l; }

# source_of NAME.csv: how it came to be, as reports/samples/index.csv says.
source_of() {
    python3 - "$1" <<'PYTHON'
import csv, sys
with open('reports/samples/index.csv', newline='', encoding='utf-8') as f:
    r = next(r for r in csv.DictReader(f) if r['file'] == sys.argv[1])
print('\n`%s` on %s, %s; rows in [reports/samples/%s](../reports/samples/%s).'
      % (r['command'], r['device'], r['date'], r['file'], r['file']))
PYTHON
}

cases() {
    echo '| what | on the CPU |'
    echo '|------|-----------:|'
    awk -F, 'NR > 1 { printf "| %s | %s %s |\n", $1, $2, $3 }' reports/samples/emulator.csv
    source_of emulator.csv
}

# kept TEXT: the rows of the README that begin so.
kept() { grep -F "| $1" "$readme" || true; }

fuzz() {
    echo '| fuzzer | what it did |'
    echo '|--------|-------------|'
    [ -f "$counts.files" ] || kept '`make fuzz` |'
    [ ! -f "$counts.files" ] || echo "| \`make fuzz\` | $(value "$counts.files" workloads) damaged workloads and scripts," \
        "$(value "$counts.files" programs) programs, $(value "$counts.files" natives) calls of functions in C," \
        "$(value "$counts.files" tables) result files, $(value "$counts.files" stores) stores in" \
        "$(($(value "$counts.files" seconds) / 60)) minutes of one worker; $(value "$counts.files" findings) findings in these runs |"
    [ -f "$counts" ] || kept '`make fuzz-graphs` |'
    [ ! -f "$counts" ] || echo "| \`make fuzz-graphs\` | $(value "$counts" graphs) graphs in $(($(value "$counts" milliseconds) / 60000)) minutes of one" \
        "core, $(value "$counts" kernels) kernels, $(value "$counts" configs) kernels emitted under a config;" \
        "$(value "$counts" emulated) programs run on the emulator, $(value "$counts" cpu) on the CPU;" \
        "$(value "$counts" wild) graphs not judged because integers overflow; $(value "$counts" bugs) bugs in these runs |"
    echo "| \`fuzz/found/\` | $(files tests/fuzz/found '*.graph') graphs that showed a bug, replayed by every" \
        "\`make test\` |"
    compgen -G "$build/libfuzzer/corpus/*.log" >/dev/null || kept '`make fuzz-bytes`,'
    for log in "$build"/libfuzzer/corpus/*.log; do
        [ -f "$log" ] || continue
        runs=$(sed -n 's/^Done \([0-9]*\) runs in \([0-9]*\) second.*/\1 inputs in \2 s/p' "$log" | tail -n 1)
        [ -z "$runs" ] || echo "| \`make fuzz-bytes\`, $(basename "$log" .log) | $runs, the last run |"
    done
    echo "| \`fuzz/corpus/\` | $(files tests/fuzz/corpus 'found*') inputs that broke a reader, replayed by every" \
        "\`make test\` |"
    python=$(dirname "$counts")/python.counts
    [ -f "$python" ] || kept '`make fuzz-python` |'
    [ ! -f "$python" ] || echo "| \`make fuzz-python\` | $(value "$python" random) expressions and" \
        "$(value "$python" programs) programs that do the same as under python3 |"
    echo "| \`fuzz/python/\` | $(files tests/fuzz/python '*.py') scripts that print the same as under python3 |"
}

coverage() {
    echo '| folder | lines | run | branches | taken |'
    echo '|--------|------:|----:|---------:|------:|'
    awk 'function percent(part, all) { return all ? sprintf("%.1f %%", 100 * part / all) : "" }
        function row(name, l, r, b, t) { printf "| %s | %d | %s | %d | %s |\n", name, l, percent(r, l), b, percent(t, b) }
        { row("`" $1 "/`", $2, $3, $4, $5) }
        $1 ~ /^compiler/ { l += $2; r += $3; b += $4; t += $5 }
        END { row("all of `compiler/`", l, r, b, t) }' "$build/coverage/summary"
}

# put NAME TABLE
put() {
    awk -v name="$1" -v table="$2" '
        index($0, name ":end") { inside = 0 }
        !inside { print }
        index($0, name ":begin") { print table; inside = 1; found = 1 }
        END { exit !found }' $readme >"$build/README.new" || {
        echo "report: $readme has no line $1:begin" >&2
        exit 2
    }
    cat "$build/README.new" >$readme
    rm "$build/README.new"
}

[ ! -f reports/samples/emulator.csv ] || put cases "$(cases)"
[ ! -f reports/samples/mutants.csv ] ||
    put mutants "$(scripts/mutate.py --table --csv reports/samples/mutants.csv && source_of mutants.csv)"
[ ! -f "$counts" ] && [ ! -f "$counts.files" ] || put fuzz "$(fuzz)"
[ ! -f "$build/coverage/summary" ] || put coverage "$(coverage)"
