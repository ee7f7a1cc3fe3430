#!/usr/bin/env bash
# nightly.sh: bench every workload, compare each with its last run on the same device, sum up.
#
#   scripts/nightly.sh                                  all of workloads/
#   DEVICE=cuda:1 DTYPE=bf16 scripts/nightly.sh softmax layernorm
#
# Environment: WARPSMITH (build/warpsmith), RESULTS (results/nightly), DEVICE, DTYPE, PRECISION, MODE, THRESHOLD (0.02).
# Rows go to $RESULTS/<workload>.csv. A workload that fails does not stop the others. The exit code is the worst of all,
# in the order 0 fine, 5 too noisy to tell, 4 slower, 1 wrong, 3 the machine cannot do it.
set -u
results=$(realpath -m "${RESULTS:-results/nightly}") # of where it is called, not of where the script lies
cd "$(dirname "$0")/.." || exit 3

warpsmith=${WARPSMITH:-build/warpsmith}
threshold=${THRESHOLD:-0.02}

case ${1-} in
-h | --help)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
if ! [ -x "$warpsmith" ]; then
    echo "nightly: no '$warpsmith' here: run make first" >&2
    exit 3
fi
mkdir -p "$results" || exit 3

options=()
if [ -n "${DEVICE-}" ]; then options+=(--device "$DEVICE"); fi
if [ -n "${DTYPE-}" ]; then options+=(--dtype "$DTYPE"); fi
if [ -n "${PRECISION-}" ]; then options+=(--precision "$PRECISION"); fi
if [ -n "${MODE-}" ]; then options+=(--mode "$MODE"); fi

if [ $# -eq 0 ]; then
    for file in workloads/*.py; do set -- "$@" "$(basename "$file" .py)"; done
fi

# rank CODE: how bad an exit code is. What is not in the list (a usage error, a crash) is as bad as a wrong result.
rank() {
    case $1 in
    0) echo 0 ;; 5) echo 1 ;; 4) echo 2 ;; 3) echo 4 ;; *) echo 3 ;;
    esac
}

# worse A B: the worse of two exit codes.
worse() { if [ "$(rank "$2")" -gt "$(rank "$1")" ]; then echo "$2"; else echo "$1"; fi; }

size_of() { if [ -e "$1" ]; then wc -c <"$1"; else echo 0; fi; }

# said CODE: a word for the summary.
said() {
    case $1 in
    0) echo 'same or faster' ;; 5) echo 'too noisy to tell' ;; 4) echo SLOWER ;; 3) echo 'MACHINE CANNOT' ;;
    1) echo WRONG ;; *) echo "FAILED (exit $1)" ;;
    esac
}

worst=0
summary=
for workload in "$@"; do
    csv=$results/$workload.csv
    before=$(size_of "$csv")
    echo "== $workload"
    "$warpsmith" bench "workloads/$workload.py" ${options[@]+"${options[@]}"} --results "$results"
    code=$?
    if [ $code -ne 0 ]; then
        line="bench: $(said $code)"
    elif [ "$(size_of "$csv")" -eq "$before" ]; then
        code=1
        line="bench appended no rows to $csv"
    else
        line='first run'
    fi
    # Only a run that left rows is compared: else an old night would be compared with an older one.
    if [ "$(size_of "$csv")" -gt "$before" ]; then
        "$warpsmith" compare --base "$csv@prev" --new "$csv@last" --threshold "$threshold"
        compared=$?
        if [ $compared -ne 2 ]; then # 2: there is nothing to compare with yet
            if [ $code -eq 0 ]; then line=$(said $compared); fi
            code=$(worse "$code" "$compared")
        fi
    fi
    summary+=$(printf '  %-20s %s' "$workload" "$line")$'\n'
    worst=$(worse "$worst" "$code")
done

case $worst in 0 | 1 | 3 | 4 | 5) ;; *) worst=1 ;; esac
echo "== summary"
printf '%s' "$summary"
exit "$worst"
