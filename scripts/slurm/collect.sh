#!/usr/bin/env bash
# collect.sh: when all tasks have ended: rows and tuned kernels are merged, and what is not done is submitted again.
# For round.sh.
#
#   sbatch --dependency=afterany:JOB scripts/slurm/collect.sh WORK ROUND
set -uo pipefail
# shellcheck disable=SC1091 # submit.sh wrote it
. "$1/environment"
round=$2

echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) round $round"
# Lost hosts may keep their locks for a while.
for ((try = 1; ; try++)); do
    said=$("$warpsmith" suite "$work/cases" --collect --results "$results" 2>&1)
    code=$?
    if [[ $said != *'another process runs'* ]] || [ $try -ge 30 ]; then break; fi
    sleep 10
done
printf '%s\n' "$said"
shopt -s nullglob
stores=("$work"/store-*.db)
if [ ${#stores[@]} -gt 0 ]; then "$warpsmith" merge "${stores[@]}" || code=3; fi
if [[ $said == *'not done: case '* ]]; then
    if [ "$round" -lt "$rounds" ]; then exec "$here/round.sh" "$work" $((round + 1)); fi
    echo "not done in $rounds rounds: submit.sh with the same cases goes on; $work/task-*.log say why"
elif [ "$code" -le 1 ]; then
    rm -rf "$work"
fi
exit "$code"
