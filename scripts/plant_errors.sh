#!/usr/bin/env bash
# plant_errors.sh: plant 200 mistakes into what the suite's workloads should leave, and write down which are caught.
#
#   scripts/plant_errors.sh [CSV]      default: reports/samples/planted.csv
#
# The mistakes, and how they are judged, are those of tests/unit/test_compile_planted.c.
set -euo pipefail
cd "$(dirname "$0")/.."
csv=${1:-reports/samples/planted.csv} test=${BUILD:-build}/tests/unit/test_compile_planted

[ -x "$test" ] || {
    echo "plant_errors.sh: there is no $test: make $test" >&2
    exit 2
}
PLANTED_CSV=$csv "$test" || true
awk -F, 'NR > 1 { n[$3]++; yes[$3] += $NF == "yes"; all++; caught += $NF == "yes" }
         END { for (m in n) printf "%-20s %3d of %3d\n", m, yes[m], n[m]; printf "%-20s %3d of %3d\n", "all", caught, all }' "$csv"
