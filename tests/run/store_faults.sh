#!/usr/bin/env bash
# What the world does to the store under `warpsmith bench`: a second tuner whose first is killed, a full disk, a file
# system that cannot be written.
set -uo pipefail

passed=0 failed=0
ok() { passed=$((passed + 1)); }
fail() {
    printf '%s\n' "$@" "$(cat "$TMP/out" "$TMP/err" 2>/dev/null)"
    failed=$((failed + 1))
}
args=(bench workloads/softmax.py --device cpu --no-figures)
whole_rows() { python3 -c 'import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
assert rows and all(len(r) == len(rows[0]) for r in rows), "ragged"' "$1" 2>&1; }

# wait_for PATTERN FILE PID: until the file says so; false if the process ends before.
wait_for() {
    while kill -0 "$3" 2>/dev/null; do
        grep -qE -- "$1" "$2" 2>/dev/null && return 0
        sleep 0.1
    done
    return 1
}

# Two tuners of one kernel: the first is stopped while it tunes, so the second waits; the first is killed, and the second
# goes on from what it had stored.
WS_LOGS=autotune "$WARPSMITH" "${args[@]}" -D rows=40 -D dim=72 --results "$TMP/first" --search exhaustive \
    >"$TMP/out1" 2>"$TMP/err1" </dev/null &
first=$!
wait_for '^\[autotune\]' "$TMP/err1" $first || fail 'the first tuner did not begin'
kill -STOP $first
"$WARPSMITH" "${args[@]}" -D rows=40 -D dim=72 --results "$TMP/second" --budget 1 >"$TMP/out" 2>"$TMP/err" </dev/null &
second=$!
if wait_for 'another process tunes' "$TMP/out" $second; then ok; else fail 'the second tuner did not wait for the first:'; fi
kill -9 $first
wait $first 2>/dev/null
code=0
wait $second || code=$?
if [ $code = 0 ] && grep -q '^tuned ' "$TMP/out"; then ok; else fail "the second tuner did not take over: $code"; fi
if said=$(whole_rows "$TMP/second/softmax.csv"); then ok; else fail "the second tuner's rows are not whole: $said"; fi
if "$WARPSMITH" cache ls >"$TMP/out" 2>"$TMP/err" && ! grep -q damaged "$TMP/err"; then ok; else
    fail 'the store that both used does not open:'
fi

# File systems of our own, where the system lets us mount any.
if ! unshare -rm mount -t tmpfs none "$TMP" 2>/dev/null; then
    echo 'file systems cannot be mounted here: a full and a read-only one are not tested'
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
    exit
fi
mkdir "$TMP/disk"
small=("${args[@]}" -D rows=16 -D dim=32 --budget 1 --results "$TMP/results")

# within SCRIPT: run it in a namespace with a file system at $TMP/disk, which holds the store. It says "step CODE".
within() {
    WARPSMITH_CACHE=$TMP/disk/store.db unshare -rm bash -c "$1" bash "$TMP/disk" "$WARPSMITH" "${small[@]}" \
        >"$TMP/out" 2>"$TMP/err" </dev/null
}
said() { if grep -qE -- "$1" "$TMP/out" "$TMP/err"; then ok; else fail "$2: expected /$1/:"; fi; }

# A full disk: said, and what was stored before is there when there is room again.
within 'mount -t tmpfs -o size=300k none "$1"; w=$2; shift 2
    "$w" "$@"; echo "full $?"
    mount -o remount,size=64m "$(dirname "$WARPSMITH_CACHE")"
    "$w" "$@"; echo "room $?"
    "$w" "$@"; echo "hit $?"'
said '^full 3$' 'a full disk'
said 'store.db.*the disk is full' 'a full disk'
said '^room 0$' 'room again'
said 'cache hit' 'the store after a full disk'
if grep -q damaged "$TMP/err"; then fail 'after a full disk the store was taken for damaged:'; else ok; fi

# A file system that has become read-only, with a store and without one.
within 'mount -t tmpfs none "$1"; w=$2; shift 2
    "$w" "$@"; echo "writable $?"
    mount -o remount,ro "$(dirname "$WARPSMITH_CACHE")"
    "$w" "$@"; echo "read-only $?"
    WARPSMITH_CACHE=$(dirname "$WARPSMITH_CACHE")/other.db "$w" "$@"; echo "none $?"'
said '^writable 0$' 'a store to be'
said '^read-only 3$' 'a read-only file system'
said '^none 3$' 'a read-only file system without a store'
if [ "$(grep -c 'read-only file system' "$TMP/err")" = 2 ]; then ok; else fail 'a read-only file system is not named:'; fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
