#!/usr/bin/env bash
# submit.sh: a suite (`warpsmith suite --help`) on the hosts of a Slurm cluster: an array of tasks, and a job that puts
# together what they have measured.
#
#   scripts/slurm/submit.sh cases.txt
#   RESULTS=results/h100 TASKS=8 scripts/slurm/submit.sh cases.txt --partition=gpu --gres=gpu:1 --time=2:00:00
#
# What stands behind the file is for sbatch. Environment: RESULTS (results), a folder that all hosts see; WARPSMITH
# (build/warpsmith), likewise; TASKS (one a case, 1000 at most); DEVICES (all that a task is given), as --devices;
# ROUNDS (3).
#
# Each task runs every TASKS-th case, on the devices that Slurm gives it. A case is done once its results are published,
# which is one rename, and is then never run again. When all tasks have ended, however they have, the job `collect`
# merges rows into $RESULTS/*.csv and tuned kernels into the store of whoever submits. Cases that are not done (a host
# that failed, a task that was killed, a time limit) are submitted again, ROUNDS times in all; after that the same call
# goes on with them.
#
# $RESULTS/slurm.log has what collect says, and its exit code is that of `warpsmith suite`; until all is done
# $RESULTS/slurm-*/ has what tasks say. Exit codes: 0 submitted, or nothing was left to do; 2 the call is wrong; 3 no
# Slurm, or it refuses.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
warpsmith=$(realpath -m "${WARPSMITH:-$here/../../build/warpsmith}")
results=$(realpath -m "${RESULTS:-results}")

case ${1-} in
-h | --help | '')
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'
    [ $# -gt 0 ] || exit 2
    exit 0
    ;;
esac
file=$1
shift
if ! [ -x "$warpsmith" ]; then
    echo "submit: no '$warpsmith' here: run make first" >&2
    exit 3
fi
if ! command -v sbatch >/dev/null; then
    echo 'submit: no sbatch: this is no host of a Slurm cluster' >&2
    exit 3
fi
for number in "${TASKS:-1}" "${ROUNDS:-3}"; do
    if ! [[ $number =~ ^[1-9][0-9]{0,3}$ ]]; then
        echo "submit: TASKS and ROUNDS take whole numbers from 1 on, not '$number'" >&2
        exit 2
    fi
done

# Wrong cases are found here, not on a hundred hosts. What is not done yet is said, a line each.
code=0
said=$("$warpsmith" suite "$file" --collect --results "$results" 2>&1) || code=$?
if ! [[ $said == *'not done: case '* ]]; then
    printf '%s\n' "$said" # all is done, and now merged; or an error
    exit "$code"
fi

# What tasks read does not change under their hands.
id=$(sha256sum <"$file" | cut -c1-16)
work=$results/slurm-$id
mkdir -p "$work"
chmod 700 "$work" # stores lie in it
cp "$file" "$work/cases.new"
mv "$work/cases.new" "$work/cases"
"$warpsmith" cache export "$work/known.db" 2>/dev/null || true

cases=$(sed -n 's/^[0-9]* of \([0-9]*\) cases .*/\1/p' <<<"$said")
tasks=${TASKS:-$cases}
[ "$tasks" -le "$cases" ] || tasks=$cases
[ "$tasks" -le 1000 ] || tasks=1000
{
    printf '%s=%q\n' work "$work" results "$results" warpsmith "$warpsmith" here "$here" devices "${DEVICES:-all}" \
        name "warpsmith-$id" tasks "$tasks" rounds "${ROUNDS:-3}"
    echo "options=($([ $# -eq 0 ] || printf '%q ' "$@"))"
} >"$work/environment"
"$here/round.sh" "$work" 1
echo "results: $results; to stop it all: scancel --name=warpsmith-$id"
