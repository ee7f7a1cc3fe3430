#!/usr/bin/env bash
# bench_lookup.sh: what looking a config up costs on this machine, once the store is loaded. No GPU is used.
#
#   scripts/bench_lookup.sh                     writes reports/samples/lookup_<host architecture>.csv
#   OUT=lookup.csv scripts/bench_lookup.sh
#
# One row a measure, in the columns of scripts/bench_cost.sh: microseconds a lookup of a kernel with 1, 16 and 256
# ranges of sizes, in a table of 64 such kernels: for a size in a range, for one outside of all, for an unknown kernel.
# As there every measure waits for an idle machine, and the last row says how much of it others have used.
#
# Environment: OUT, WAIT (60: seconds to wait at most).
# Exit codes: 0 fine, 1 a limit is exceeded, 2 wrong call, 3 something cannot run here.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

. scripts/script_head.sh

out=${OUT:-reports/samples/lookup_$(uname -m).csv}
wait=${WAIT:-60}
script=bench_lookup
bench=build/tests/lookup/bench_lookup
make build/warpsmith $bench >&2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export WARPSMITH_CACHE=$tmp/store.db
. scripts/measures.sh
host=$(processor)

declare -A what=([hit]='a size in one of' [nearest]='a size outside of' [miss]='an unknown kernel beside')
for n in 1 16 256; do
    quiet
    $bench $n >"$tmp/us" || {
        echo "bench_lookup: exit $? of: $bench $n" >&2
        exit 3
    }
    while read -r kind us; do
        row "lookup: ${what[$kind]} $n ranges" "$us" us '<=2' "$bench $n"
    done <"$tmp/us"
done

others_row
write_table "$out"
exit $over
