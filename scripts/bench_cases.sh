# bench_cases.sh: for scripts/bench_*.sh to source that time a list of cases, ours beside PyTorch's (scripts/run_cases.py).
#
#   caller=bench_x ways=eager,compile table=x
#   . scripts/bench_cases.sh
#   all_cases | chosen
#   run_cases; exit $status
#
# The caller may set parts, total, limit, ahead and args, what they are where the environment does not say otherwise.
# shellcheck shell=bash disable=SC2034,SC2154 # set by the caller, or for it

out=${OUTDIR:-${table}-results}
warpsmith=${WARPSMITH:-build/warpsmith}
device=${DEVICE:-cuda:0}
python=${PYTHON:-python3}
ways=${WAYS:-$ways}
parts=${PARTS:-${parts:-torch ours}}
only=${ONLY:-}
status=0

# chosen: of the cases on stdin those that ONLY matches become OUTDIR/cases.txt.
chosen() { mkdir -p "$out" && grep -E -- "$only" >"$out/cases.txt"; }

# run_cases [--apart] [--fast]: runs them, writes OUTDIR/TABLE.csv, and says what came out.
run_cases() {
    local code=0 apart=() fast=() option
    if ! [ -s "$out/cases.txt" ]; then
        echo "$caller: no case matches ${CASES+CASES='$CASES' }${ONLY+ONLY='$ONLY'}" >&2
        exit 2
    fi
    for option; do if [ "$option" = --apart ]; then apart=(--apart); else fast=("$option"); fi; done
    "$python" scripts/run_cases.py "$out/cases.txt" --out "$out" --caller "$caller" --device "$device" \
        --warpsmith "$warpsmith" --python "$python" --parts "$parts" --ways "$ways" --args="${ARGS-${args:-}}" --shard "${SHARD:-0/1}" \
        --total "${TOTAL:-${total:-540}}" --limit "${LIMIT:-${limit:-300}}" --ahead "${AHEAD:-${ahead:-0}}" \
        ${always:+--always "$always"}         ${RETRY:+--retry} ${apart[@]+"${apart[@]}"} || code=$?
    [ $code = 0 ] || status=$code
    [ $code = 2 ] || [ $code -ge 128 ] ||
        "$python" "scripts/${table_script:-case_table.py}" "$out" ${fast[@]+"${fast[@]}"} >"$out/$table.csv" || status=1
}
