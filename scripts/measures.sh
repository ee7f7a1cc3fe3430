# measures.sh: a table of measures, for scripts/bench_*.sh to source: waits for an idle machine, holds values to limits.
#
#   script=bench_x tmp=$(mktemp -d) host='the processor' wait=60
#   . scripts/measures.sh
#   quiet; row 'what was measured' 12.5 ms '<=20' 'the command'
#   others_row; write_table reports/samples/x.csv; exit $over
# shellcheck shell=bash disable=SC2154,SC2034 # the caller sets script, tmp, host, wait and reads over

# Hundredths of core seconds: used on this machine since it started; used by this script and what it ran.
all_used() { awk '/^cpu / { print $2 + $3 + $4 }' /proc/stat; }
own_used() {
    times >"$tmp/times" # not in a pipe, whose times start at zero
    tr 'ms' '  ' <"$tmp/times" | awk '{ sum += 60 * ($1 + $3) + $2 + $4 } END { printf "%d", 100 * sum }'
}

# busy: has anything used more than a twentieth of a core in the last two seconds?
busy() {
    local before
    before=$(all_used)
    sleep 2
    [ $(($(all_used) - before)) -gt 10 ]
}

# quiet: wait until nothing else runs, `wait` seconds at most; then say so and go on.
quiet() {
    local end=$((SECONDS + wait))
    [ -r /proc/stat ] || return 0
    while busy; do
        [ $SECONDS -lt $end ] || {
            echo "$script: this machine is busy; what follows is too slow" >&2
            return 0
        }
    done
}

# ---- the table -------------------------------------------------------------------------------------------------------

today=$(date -u +%Y-%m-%d)
begin=$SECONDS
over=0 # 1: a limit was exceeded
[ ! -r /proc/stat ] || all_before=$(all_used)
echo 'measure,value,unit,limit,command,device,date' >"$tmp/table.csv"

# quoted TEXT: a CSV field.
quoted() { if [[ $1 == *[,\"]* ]]; then printf '"%s"' "${1//\"/\"\"}"; else printf '%s' "$1"; fi; }

# row MEASURE VALUE UNIT LIMIT COMMAND
row() {
    local note=''
    if ! awk -v v="$2" -v l="$4" 'BEGIN { n = substr(l, 3) + 0; exit !(l == "" || (l ~ /^<=/ ? v <= n : v >= n)) }'; then
        note="  over the limit of $4"
        over=1
    fi
    printf '%-52s %8s %-3s%s\n' "$1" "$2" "$3" "$note"
    printf '%s,%s,%s,%s,%s,%s,%s\n' "$(quoted "$1")" "$2" "$3" "$4" "$(quoted "$5")" "$(quoted "$host")" "$today" \
        >>"$tmp/table.csv"
}

# others_row: how much of the machine others have used since this file was sourced.
others_row() {
    [ -r /proc/stat ] || return 0
    own_used >"$tmp/own"
    row 'cores that others used meanwhile' "$(awk -v all=$(($(all_used) - all_before)) -v own="$(<"$tmp/own")" \
        -v seconds=$((SECONDS - begin)) 'BEGIN { printf "%.2f", (all - own) / 100 / (seconds ? seconds : 1) }')" \
        '' '<=0.1' /proc/stat
}

# write_table FILE
write_table() {
    mkdir -p "$(dirname "$1")"
    mv "$tmp/table.csv" "$1"
    echo "wrote $1"
}

median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

processor() {
    build/warpsmith explain workloads/softmax.py --device cpu 2>&1 | sed -n 's/^device cpu: \(.*\) (.*/\1/p'
}
