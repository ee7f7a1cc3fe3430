#!/usr/bin/env bash
# task.sh: one task of the array: its part of the cases, with a store of its own, which knows what was known before.
# For round.sh.
#
#   sbatch --array=1-8 scripts/slurm/task.sh WORK
set -euo pipefail
# shellcheck disable=SC1091 # submit.sh wrote it
. "$1/environment"
part=$SLURM_ARRAY_TASK_ID

# SQLite's journal wants one host at a time, and this file has that: a second instance of the task finds the part's lock.
export WARPSMITH_CACHE=$work/store-$part.db
[ -e "$WARPSMITH_CACHE" ] || ! [ -e "$work/known.db" ] || "$warpsmith" cache import "$work/known.db"
exec "$warpsmith" suite "$work/cases" --results "$results" --devices "$devices" --part "$part/$tasks"
