#!/usr/bin/env bash
# coverage.sh: which part of each file's lines and branches the tests run, worst first within each folder.
#
#   scripts/coverage.sh             runs the tests with gcc's counters in a build folder of their own
#   scripts/coverage.sh --again     only reads the counters of the last run
#
# A branch counts once it has been taken; branches into a failed assertion never are. The sums of the folders are kept
# in $BUILD/coverage/summary ("folder lines run branches taken"), where tests/report.sh finds them.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BUILD:-build}/coverage
failed=0
if [ "${1:-}" != --again ]; then
    find "$build" -name '*.gcda' -delete 2>/dev/null || true
    make CC=gcc CFLAGS='-O0 -g --coverage -DCOVERAGE' BUILD="$build" STATIC=0 test || failed=1
fi
find "$build/compiler" "$build/tuner" "$build/reports" -name '*.gcno' 2>/dev/null | sort |
    while IFS= read -r notes; do
        gcov --no-output --branch-probabilities --object-directory "$notes" "$notes" 2>/dev/null
    done | awk -F"'" -v summary="$build/summary" '
        # One file of a report, once it has ended: a header may be in many reports, so that only sources count.
        function flush() {
            if (file ~ /\.c$/ && file !~ /^\//) {
                folder = file
                sub(/\/[^\/]*$/, "", folder)
                run[folder] += lines_run
                lines[folder] += n_lines
                taken[folder] += branches_taken
                branches[folder] += n_branches
                printf "%-24s %5.1f %% of %5d lines  %5.1f %% of %5d branches  %s\n", folder, percent(lines_run, n_lines),
                    n_lines, percent(branches_taken, n_branches), n_branches, file | "sort -k1,1 -k2,2n"
            }
            file = ""
            n_lines = n_branches = lines_run = branches_taken = 0
        }
        function percent(part, all) { return all ? 100 * part / all : 100 }
        /^File / { flush(); file = $2 }
        /^Lines executed:/ { split($0, p, /[:%]/); sub(/.* of /, ""); n_lines = $0; lines_run = p[2] * n_lines / 100 }
        /^Taken at least once:/ { split($0, p, /[:%]/); sub(/.* of /, ""); n_branches = $0; branches_taken = p[2] * n_branches / 100 }
        END {
            flush()
            close("sort -k1,1 -k2,2n")
            for (f in lines) {
                printf "%-24s %5.1f %% of %5d lines  %5.1f %% of %5d branches\n", f, percent(run[f], lines[f]), lines[f],
                    percent(taken[f], branches[f]), branches[f] | "sort"
                printf "%s %d %d %d %d\n", f, lines[f], run[f] + 0.5, branches[f], taken[f] + 0.5 | ("sort >" summary)
            }
        }'
exit $failed
