#!/usr/bin/env bash
# warpsmith suite: two halves of the CPU stand for two GPUs, one of which is lost; suites that are stopped and killed go on.
# Every case runs once, every row is there once. Nothing here hangs on how fast the machine is.
set -uo pipefail

failures=0
fail() {
    printf '%s\n' "$@" "$(cat "$TMP/said" 2>/dev/null)"
    failures=$((failures + 1))
}
# until_ COMMAND...: until it is true, or the suite has ended.
until_() {
    until "$@"; do
        if ! kill -0 "$suite" 2>/dev/null; then
            fail "the suite ended without: $*"
            exit 1
        fi
        sleep 0.05
    done
}
# suite ARGUMENTS...: in the background, its words in $TMP/said.
suite() {
    "$WARPSMITH" suite "$TMP/cases.txt" --results "$TMP/results" "$@" >"$TMP/said" 2>&1 &
    suite=$!
}
# ends CODE: the suite does, so.
ends() {
    local code=0
    wait "$suite" || code=$?
    [ $code = "$1" ] || fail "exit $code, expected $1:"
}

# The second half's cores, if there are two cores: its benches are killed as soon as they compile, as if the device was
# gone. The compiler of the case with 48 rows waits as long as there is a file `hold`.
second=$(python3 -c 'import os
c = sorted(os.sched_getaffinity(0))
print(c[len(c) // 2] if len(c) > 1 else 99999)')
cat >"$TMP/cc" <<END
#!/usr/bin/env bash
first=\$(sed -n 's/^Cpus_allowed_list:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/self/status)
if [ -e $TMP/lost ] && [ "\$first" -ge $second ]; then kill -9 \$PPID; exit 1; fi
if tr '\\0' ' ' </proc/\$PPID/cmdline | grep -qs rows=48; then
    echo \$PPID >$TMP/held
    while [ -e $TMP/hold ]; do sleep 0.05; done
fi
exec cc "\$@"
END
chmod +x "$TMP/cc"
export CC=$TMP/cc
for rows in 16 32 48 64; do
    echo "softmax -D rows=$rows -D dim=64 --budget 1t --samples-max 3"
done >"$TMP/cases.txt"

# One device is lost: the other gets its cases. Meanwhile nobody else may run the suite.
touch "$TMP/hold" "$TMP/lost"
suite --devices cpu,cpu
until_ [ -e "$TMP/held" ]
folder=$(echo "$TMP"/results/suite-*)
until_ [ -e "$folder/case-2/exit" ]
cp "$folder/case-1/log" "$TMP/first.log"
code=0
said=$("$WARPSMITH" suite "$TMP/cases.txt" --results "$TMP/results" 2>&1) || code=$?
if [ $code != 3 ] || [[ $said != *'another process runs this suite'* ]]; then fail "a second one: exit $code $said"; fi
said=$("$WARPSMITH" suite "$TMP/cases.txt" --results "$TMP/results" --part 1/2 2>&1) && fail "a part beside the whole: $said"
if [ "$second" != 99999 ]; then
    until_ grep -qs 'cpu has failed 3 cases in a row: it gets no more' "$TMP/said"
    grep -qs 'killed by signal 9' "$TMP/said" || fail 'does not say how benches ended:'
fi

# Stopped: so are its benches, and what is done is merged. Killed, too. Then it goes on.
kill -TERM "$suite"
until_ grep -qs 'each bench ends' "$TMP/said"
rm "$TMP/hold"
ends 143
touch "$TMP/hold"
grep -qs 'not done; the same call goes on' "$TMP/said" || fail 'does not say what is left:'
rm "$TMP/held"
export WARPSMITH_CACHE=$TMP/new/store.db # what is to be held has to compile
suite --devices cpu,cpu
until_ [ -s "$TMP/held" ]
kill -9 "$suite"
wait "$suite" 2>/dev/null
# What it left runs on, with a signal to end: it changes nothing any more.
rm "$TMP/lost" "$TMP/hold"
echo "softmax -D nothing=3" >>"$TMP/cases.txt" # another suite, with a case that is wrong
suite --part 5/5 --devices cpu
ends 1
grep -qs "FAILED (exit 2)" "$TMP/said" || fail 'does not say that a case is wrong:'
sed -i '$d' "$TMP/cases.txt"
suite --devices cpu,cpu
ends 0

rm -rf "$TMP"/results/suite-*
[ "$(ls "$TMP/results")" = $'logs\nsoftmax.csv' ] || fail 'more is left than should be:' "$(ls "$TMP/results")"
cmp "$TMP/first.log" "$TMP"/results/logs/*-1.log || fail 'case 1 has run twice:'
python3 - "$TMP/results/softmax.csv" <<'PY' || fail 'the rows are not those of four cases, each once:'
import collections, csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
roles = collections.Counter((r['axes'], r['role']) for r in rows if r['role'] != 'variant')
axes = {r['axes'] for r in rows}
assert len(axes) == 4, roles
assert all(roles[a, k] == 1 for a in axes for k in ('eager', 'default', 'tuned', 'roof')), roles
assert len(roles) == 16 and len({r['run_id'] for r in rows}) == 1, roles
PY

[ "$failures" = 0 ]
