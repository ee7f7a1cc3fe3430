#!/usr/bin/env bash
# round.sh: submits the tasks whose cases are not all done, and the job that collects afterwards. For submit.sh and
# collect.sh.
#
#   scripts/slurm/round.sh WORK ROUND
set -euo pipefail
# shellcheck disable=SC1091 # submit.sh wrote it
. "$1/environment"

# Case 1 is of task 1, case tasks + 1 again.
said=$("$warpsmith" suite "$work/cases" --collect --results "$results" 2>/dev/null) || true
array=$(sed -n 's/^not done: case \([0-9]*\):.*/\1/p' <<<"$said" |
    awk -v n="$tasks" '{ t = ($1 - 1) % n + 1; if (!seen[t]++) list = list (list ? "," : "") t } END { print list }')
[ -n "$array" ] || exit 0

job=$(sbatch --parsable --job-name="$name" --requeue --open-mode=append --output="$work/task-%a.log" \
    ${options[@]+"${options[@]}"} --array="$array" "$here/task.sh" "$work")
job=${job%%;*}
# It needs neither a GPU nor the time that tasks have, but where it may run is theirs to say.
place=()
for option in ${options[@]+"${options[@]}"}; do
    case $option in --partition=* | -p* | --account=* | -A* | --qos=* | -q*) place+=("$option") ;; esac
done
sbatch --parsable --job-name="$name" --requeue --open-mode=append --output="$results/slurm.log" \
    ${place[@]+"${place[@]}"} --dependency="afterany:$job" "$here/collect.sh" "$work" "$2" >/dev/null
echo "round $2: job $job, tasks $array"
