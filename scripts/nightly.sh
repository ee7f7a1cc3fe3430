#!/usr/bin/env bash
# nightly.sh: bench every workload, hold each benchmark against its own baseline, sum up.
#
#   scripts/nightly.sh                                  all of workloads/
#   DEVICE=cuda:1 DTYPE="f32 bf16" scripts/nightly.sh softmax layernorm
#   D="dim=1024,4096 rows=64" scripts/nightly.sh softmax
#   SUITE=scripts/suite.csv scripts/nightly.sh            workloads, axes, dtypes, modes, devices of each row of a table
#
# Environment: WARPSMITH (build/warpsmith), RESULTS (results/nightly), DEVICE, DTYPE, PRECISION, MODE, D (of the latter
# four and of DEVICE several, by blanks; of D all at once), SUITE (instead of these and of names: `warpsmith nightly cases
# --help`), THRESHOLD (0.015), ROUNDS (1) runs of each, AGAIN (2) more
# of all where something is slower or too noisy to tell, LIMIT seconds for the night (none).
#
# Rows go to $RESULTS/<workload>.csv; `warpsmith nightly judge` reads them and writes $RESULTS/nightly/nightly.md. A
# workload that fails does not stop the others. A night that was interrupted goes on where it stopped, for half a day.
# The exit code is the worst of all, in the order 0 fine, 5 too noisy to tell, 4 slower, 1 wrong or lost, 3 the machine
# cannot do it, or another night runs; 2: the call is wrong; 124: the limit; 130 and the like: interrupted.
set -u
results=$(realpath -m "${RESULTS:-results/nightly}") # of where it is called, not of where the script lies
suite=${SUITE:+$(realpath -m "$SUITE")}
cd "$(dirname "$0")/.." || exit 3

warpsmith=${WARPSMITH:-build/warpsmith}

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
# What is run: a case a line, of words with tabs between, as `warpsmith nightly cases` prints them.
cases=()
if [ -n "$suite" ]; then
    if [ -n "$*${DEVICE-}${DTYPE-}${PRECISION-}${MODE-}${D-}" ]; then
        echo "nightly: SUITE says what is run: no names, DEVICE, DTYPE, PRECISION, MODE or D beside it" >&2
        exit 2
    fi
    lines=$("$warpsmith" nightly cases "$suite") || exit 2
    mapfile -t cases <<<"$lines"
else
    if [ $# -eq 0 ]; then
        for file in workloads/*.py; do set -- "$@" "$(basename "$file" .py)"; done
    fi
    for workload in "$@"; do
        if ! [ -f "workloads/$workload.py" ]; then
            echo "nightly: no workload '$workload'; workloads/ has: $(cd workloads && echo *.py | sed 's/\.py//g')" >&2
            exit 2
        fi
        for device in ${DEVICE:--}; do
            for dtype in ${DTYPE:--}; do
                for precision in ${PRECISION:--}; do
                    for mode in ${MODE:--}; do
                        words="workloads/$workload.py"
                        [ "$device" = - ] || words+=$'\t--device\t'$device
                        [ "$dtype" = - ] || words+=$'\t--dtype\t'$dtype
                        [ "$precision" = - ] || words+=$'\t--precision\t'$precision
                        [ "$mode" = - ] || words+=$'\t--mode\t'$mode
                        for value in ${D-}; do words+=$'\t-D\t'$value; done
                        cases+=("$words")
                    done
                done
            done
        done
    done
fi
for number in "${ROUNDS:-1}" "${AGAIN:-2}" "${LIMIT:-0}"; do
    if ! [[ $number =~ ^[0-9]+$ ]]; then
        echo "nightly: ROUNDS, AGAIN and LIMIT take whole numbers, not '$number'" >&2
        exit 2
    fi
done
mkdir -p "$results/nightly" || exit 3
exec 9>"$results/nightly/lock" || exit 3
if ! flock -n 9; then
    echo "nightly: another night runs in '$results'" >&2
    exit 3
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
    3) echo 'MACHINE CANNOT' ;; 1) echo WRONG ;; *) echo "FAILED (exit $1)" ;;
    esac
}

# The night's name, and what of it is done: a line for each call that ended well. A new one begins after half a day.
calls="$(printf '%s | ' "${cases[@]}")${ROUNDS:-1}"
going=$results/nightly/unfinished
if [ -n "$(find "$going" -mmin -720 2>/dev/null)" ] && [ "$(sed -n 2p "$going")" = "$calls" ]; then
    night=$(sed -n 1p "$going")
    echo "== night $night goes on"
else
    night=$(date -u +%Y%m%dT%H%M%SZ)
    printf '%s\n' "$night" "$calls" >"$going"
fi

child=
stop() { # SIGNAL: pass it on, wait for rows in progress, and end as it ends others
    trap - INT TERM HUP
    if [ -n "$child" ]; then
        kill -s "$1" "$child" 2>/dev/null
        wait "$child"
    fi
    echo "nightly: interrupted; the next call goes on" >&2
    kill -s "$1" $$
}
for signal in INT TERM HUP; do
    # shellcheck disable=SC2064 # each trap its own signal
    trap "stop $signal" $signal
done

worst=0
summary=
# bench ROUND FILE OPTION...: one call, unless it is done.
bench() {
    local round=$1 file=$2 code=0 left=0 call before workload csv
    workload=$(basename "$file" .py)
    csv=$results/$workload.csv
    shift 2
    call="$round $workload $*"
    if grep -qxF -- "$call" "$going"; then return; fi
    if [ "${LIMIT:-0}" -gt 0 ]; then
        left=$((LIMIT - SECONDS))
        if [ $left -le 0 ]; then
            echo "nightly: over the limit of $LIMIT s; the next call goes on" >&2
            exit 124
        fi
    fi
    echo "== $workload${*:+ $*}"
    before=$(size_of "$csv")
    # In the background: a trap waits for what runs in the foreground. timeout -f would leave the group; 0 is no limit.
    WARPSMITH_RUN_ID=$night.$round timeout "$left" "$warpsmith" bench "$file" "$@" \
        --results "$results" 9>&- &
    child=$!
    wait "$child"
    code=$?
    child=
    if [ "$code" -eq 124 ] && [ "$left" -gt 0 ]; then
        echo "nightly: over the limit of $LIMIT s; the next call goes on" >&2
        exit 124
    fi
    if [ "$code" -gt 128 ] && [ "$code" -le 143 ] && [ "$code" -ne 139 ] && [ "$code" -ne 134 ]; then
        echo "nightly: interrupted; the next call goes on" >&2
        exit "$code"
    fi
    if [ "$code" -eq 0 ] && [ "$(size_of "$csv")" -eq "$before" ]; then
        code=1
        summary+="  $workload${*:+ $*}: bench appended no rows to $csv"$'\n'
    elif [ "$code" -ne 0 ]; then
        summary+="  $workload${*:+ $*}: bench: $(said "$code")"$'\n'
    fi
    if [ "$code" -eq 0 ]; then printf '%s\n' "$call" >>"$going"; fi
    worst=$(worse "$worst" "$code")
}

# one_round NUMBER [WORKLOAD...]: all cases, or those of these workloads.
one_round() {
    local round=$1 case words workload
    shift
    for case in "${cases[@]}"; do
        IFS=$'\t' read -ra words <<<"$case"
        workload=$(basename "${words[0]}" .py)
        if [ $# -eq 0 ] || [[ " $* " == *" $workload "* ]]; then bench "$round" "${words[@]}"; fi
    done
}

judge() { "$warpsmith" nightly judge --results "$results" --threshold "${THRESHOLD:-0.015}"; }

for ((round = 1; round <= ${ROUNDS:-1}; round++)); do one_round "$round"; done
judged=$(judge 2>&1)
code=$?
for ((more = 0; more < ${AGAIN:-2} && (code == 4 || code == 5); more++)); do
    mapfile -t suspects < <(sed -n 's/^| \([^ ]*\) .*| \(SLOWER\|UNSURE\) |.*/\1/p' <<<"$judged" | sort -u)
    echo "== again: ${suspects[*]-} "
    if [ ${#suspects[@]} -gt 0 ]; then one_round "$round" "${suspects[@]}"; fi
    round=$((round + 1))
    judged=$(judge 2>&1)
    code=$?
done
worst=$(worse "$worst" "$code")

case $worst in 0 | 1 | 3 | 4 | 5) ;; *) worst=1 ;; esac
printf '%s\n' "$judged"
if [ -n "$summary" ]; then printf '== failed\n%s' "$summary"; fi
rm -f "$going"
exit "$worst"
