#!/usr/bin/env bash
# What the world does to `warpsmith bench`: folders that cannot be written, foreign and damaged files, signals.
set -uo pipefail

# How fast kernels are is not asked.
[ -n "${TEST_LONG:-}" ] || export CC=$PWD/scripts/quick-cc.sh

passed=0 failed=0
ok() { passed=$((passed + 1)); }
fail() {
    printf '%s\n' "$@" "$(cat "$TMP/out" "$TMP/err" 2>/dev/null)"
    failed=$((failed + 1))
}
args=(workloads/softmax.py --device cpu -D rows=16 -D dim=32 --no-figures --budget 1)
bench() {
    code=0
    "$WARPSMITH" bench "${args[@]}" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null || code=$?
}
# expect CODE PATTERN WHAT
expect() {
    if [ "$code" = "$1" ] && grep -qE -- "$2" "$TMP/err"; then ok; else
        fail "$3: expected $1 and /$2/, got $code:"
    fi
}
# tune ARGUMENTS...: in the background, as $pid, saying of each trial that it is made and stored.
tune() {
    WS_LOGS=autotune "$WARPSMITH" bench workloads/softmax.py --device cpu --no-figures "$@" \
        >"$TMP/out" 2>"$TMP/err" </dev/null &
    pid=$!
}
# wait_for_trials N: or until it ends. The first is the default's, which every run makes anew.
wait_for_trials() {
    while kill -0 $pid 2>/dev/null && [ "$(grep -c '^\[autotune\]' "$TMP/err")" -lt "$1" ]; do sleep 0.1; done
}
valid_csv() { python3 -c 'import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
assert rows and all(len(r) == len(rows[0]) for r in rows), "ragged"
assert open(sys.argv[1]).read().endswith("\n"), "half a row"' "$1" 2>&1; }

# A results folder that cannot be: said before tuning starts.
touch "$TMP/file"
bench --results "$TMP/file/results"
expect 3 'file/results' 'results below a file'
bench --results /proc/nowhere
expect 3 '/proc/nowhere' 'results in /proc'
if [ "$(id -u)" != 0 ]; then
    mkdir -m 500 "$TMP/readonly"
    bench --results "$TMP/readonly"
    expect 3 'readonly' 'a read-only folder'
fi
if grep -q 'tuning' "$TMP/out"; then fail 'tuning began though there is nowhere to write to:'; else ok; fi

# A full disk.
mkdir "$TMP/full"
ln -s /dev/full "$TMP/full/softmax.csv"
bench --results "$TMP/full"
if [ "$code" = 3 ] || [ "$code" = 1 ]; then ok; else fail "a full disk: expected 3 or 1, got $code:"; fi

# A file that is not ours stays as it is.
mkdir "$TMP/foreign"
printf 'name,value\na,1\n' >"$TMP/foreign/softmax.csv"
bench --results "$TMP/foreign"
expect 1 'softmax.csv' 'a foreign header'
if [ "$(cat "$TMP/foreign/softmax.csv")" = $'name,value\na,1' ]; then ok; else fail 'a foreign file was changed'; fi
if grep -q 'tuning' "$TMP/out"; then fail 'tuning began though the file is foreign:'; else ok; fi

# A damaged store is set aside, said, and tuning starts afresh.
head -c 8192 /dev/urandom >"$WARPSMITH_CACHE"
bench --results "$TMP/results"
expect 0 'moved to' 'a damaged store'
if ls "$WARPSMITH_CACHE".damaged-1 >/dev/null 2>&1; then ok; else fail 'the damaged store is gone'; fi
bench --results "$TMP/results"
if grep -q 'cache hit' "$TMP/out"; then ok; else fail 'the new store was not used:'; fi

# A store that cannot be made.
code=0
WARPSMITH_CACHE=/proc/nowhere/store.db "$WARPSMITH" bench "${args[@]}" --results "$TMP/results" \
    >"$TMP/out" 2>"$TMP/err" </dev/null || code=$?
expect 3 '/proc/nowhere/store.db' 'a store in /proc'

# No compiler.
code=0
CC=/nonexistent/cc "$WARPSMITH" bench "${args[@]}" --results "$TMP/results" >"$TMP/out" 2>"$TMP/err" </dev/null || code=$?
expect 3 '/nonexistent/cc' 'no C compiler'

# Ctrl-C: 130, and what was measured is kept.
tune -D rows=24 -D dim=48 --results "$TMP/stopped"
wait_for_trials 1
kill -TERM $pid
code=0
wait $pid || code=$?
if [ $code = 143 ] || [ $code = 0 ]; then ok; else fail "a stopped run: expected 143, got $code:"; fi
if [ $code = 0 ] || grep -q 'interrupted' "$TMP/err"; then ok; else fail 'a stopped run did not say so:'; fi
if said=$(valid_csv "$TMP/stopped/softmax.csv"); then ok; else fail "after a stop the rows are not whole: $said"; fi

# kill -9 at any moment: rows stay whole, the store opens, and the next run goes on.
for i in 1 2 3 4 5 6; do
    tune -D rows=40 -D dim=80 --results "$TMP/killed"
    if [ $i = 6 ]; then wait_for_trials 3; else sleep "$((i / 2)).$((i * 3 % 10))"; fi
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    if [ -s "$TMP/killed/softmax.csv" ]; then
        if said=$(valid_csv "$TMP/killed/softmax.csv"); then ok; else fail "after kill -9 the rows are not whole: $said"; fi
    fi
    if "$WARPSMITH" cache ls >"$TMP/out" 2>"$TMP/err"; then ok; else fail 'after kill -9 the store does not open:'; fi
    if grep -q 'damaged' "$TMP/err"; then fail 'after kill -9 the store was taken for damaged:'; else ok; fi
done
args=(workloads/softmax.py --device cpu -D rows=40 -D dim=80 --no-figures)
bench --results "$TMP/killed"
if [ $code = 0 ] && grep -qE 'cache hit|known from an earlier run|the kernels are tuned' "$TMP/out"; then ok; else
    fail "the run after the kills did not go on from what was stored ($code):"
fi

# The process that the device lives in is killed while variants are tried: by whom nobody knows, so that is no verdict
# on one of them, and it is tried again.
rm -f "$WARPSMITH_CACHE"*
tune -D rows=48 -D dim=96 --results "$TMP/orphan" --search exhaustive
wait_for_trials 1
for child in $(cat /proc/$pid/task/$pid/children 2>/dev/null); do
    grep -qz device "/proc/$child/cmdline" 2>/dev/null && kill -9 "$child" && killed=1
done
code=0
wait $pid || code=$?
if [ -n "${killed-}" ] && [ $code = 0 ] && ! grep -q 'launch_error' "$TMP/orphan/softmax.csv"; then ok; else
    fail "a killed worker: killed ${killed-nobody}, exit $code:"
fi
if said=$(valid_csv "$TMP/orphan/softmax.csv"); then ok; else fail "after a killed worker the rows are not whole: $said"; fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
