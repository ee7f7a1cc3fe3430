#!/usr/bin/env bash
# bench_history.sh: what `warpsmith nightly judge` finds in made histories: steps, drifts, noise of two levels, nothing.
#
#   scripts/bench_history.sh [CSV]      default: reports/samples/histories.csv
#
# 5,000 histories of each kind, 100 nights each, one run a night and nothing run again; steps and drifts begin at the
# 61st. The histories are those of tests/unit/test_reports_change.c. False alarms are nights that begin to be SLOWER
# where nothing is. A minute or two of one core.
#
# Environment: SEED (4242), of the histories. What was chosen by looking at the histories of a seed is reported of another:
# the gates of reports/change.c were chosen with seeds 101 to 108.
set -euo pipefail
cd "$(dirname "$0")/.."
csv=${1:-reports/samples/histories.csv} test=${BUILD:-build}/tests/unit/test_reports_change

[ -x "$test" ] || {
    echo "bench_history.sh: there is no $test: make $test" >&2
    exit 2
}
CHANGE_SEED=${SEED:-4242} CHANGE_CSV=$csv "$test" >/dev/null
column -s, -t <"$csv" 2>/dev/null || cat "$csv"
