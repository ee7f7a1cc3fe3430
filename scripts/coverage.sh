#!/usr/bin/env bash
# coverage.sh: which part of each file's lines the tests run, worst first within each folder.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BUILD:-build}/coverage
find "$build" -name '*.gcda' -delete 2>/dev/null || true
make CC=gcc CFLAGS='-O0 -g --coverage' BUILD="$build" STATIC=0 test
find "$build/compiler" "$build/tuner" "$build/reports" -name '*.gcno' 2>/dev/null | sort |
    while IFS= read -r notes; do gcov --no-output --object-directory "$notes" "$notes" 2>/dev/null; done |
    awk -F"'" '
        /^File / { file = $2 }
        /^Lines executed:/ && file ~ /\.c$/ && file !~ /^\// {
            split($0, part, /[:% ]+/)
            percent = part[3]
            lines = $0
            sub(/.* of /, "", lines)
            folder = file
            sub(/\/[^\/]*$/, "", folder)
            run[folder] += percent * lines / 100
            all[folder] += lines
            printf "%-24s %5.1f %% of %5d  %s\n", folder, percent, lines, file | "sort -k1,1 -k2,2n"
            file = ""
        }
        END {
            close("sort -k1,1 -k2,2n")
            for (f in all) printf "%-24s %5.1f %% of %5d\n", f, 100 * run[f] / all[f], all[f] | "sort"
        }'
