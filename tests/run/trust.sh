#!/usr/bin/env bash
# What lies in wait for whoever runs warpsmith: a compiler in the current folder, a planted store, a plug-in that others
# can write to. Nothing of it may run. (Libraries in the current folder: threat_model.sh.)
set -uo pipefail

passed=0 failed=0
ok() { passed=$((passed + 1)); }
fail() {
    printf '%s\n' "$@" "$(cat "$TMP/out" "$TMP/err" 2>/dev/null)"
    failed=$((failed + 1))
}
root=$PWD
run() {
    code=0
    "$WARPSMITH" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null || code=$?
}
# expect CODE PATTERN WHAT
expect() {
    if [ "$code" = "$1" ] && grep -qE -- "$2" "$TMP/err"; then ok; else
        fail "$3: expected $1 and /$2/, got $code:"
    fi
}
not_run() { if [ -e "$TMP/ran" ]; then fail "$1 was executed:" && rm -f "$TMP/ran"; else ok; fi; }

# An object that tells when it is loaded.
cat >"$TMP/trap.c" <<END
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void ran(void) { close(open("$TMP/ran", O_CREAT | O_WRONLY, 0600)); }
END
cc -shared -fPIC -o "$TMP/trap.so" "$TMP/trap.c" || exit 1

# As a compiler in the current folder, where PATH has a ".": it is looked for from the private folder that it runs in.
mkdir "$TMP/here"
printf '#!/bin/sh\ntouch %s/ran\n' "$TMP" >"$TMP/here/cc"
chmod +x "$TMP/here/cc"
cd "$TMP/here" || exit 1
(unset CC && PATH=.:$PATH && run run -D rows=8 -D dim=16 "$root/workloads/softmax.py" --device cpu && echo "$code" >"$TMP/code")
[ "$(cat "$TMP/code")" = 0 ] || fail "a run in a folder of traps: $(cat "$TMP/code")"
not_run 'a compiler of the current folder'
cd "$root" || exit 1

# A plug-in that others could have changed.
cp "$TMP/trap.so" "$TMP/plugin.so"
chmod 777 "$TMP/plugin.so"
run run tests/scripts/cases/tiny_model.py --backend "$TMP/plugin.so"
expect 2 'can be written by others' 'a plug-in that others can write to'
not_run 'a plug-in that others can write to'

# A store with a binary for what is asked for, with a sum that fits: made under the very same key, but by another user.
cache=$TMP/planted
mkdir "$cache"
args=(run workloads/softmax.py --device cpu -D rows=8 -D dim=16)
WARPSMITH_CACHE=$cache/store.db run "${args[@]}"
[ "$code" = 0 ] || fail "a run with a store of one's own: $code"
chmod 777 "$cache"
for command in "${args[*]}" "bench ${args[*]:1}" 'cache ls'; do
    # shellcheck disable=SC2086 # words
    WARPSMITH_CACHE=$cache/store.db run $command
    expect 3 "planted' can be written by others" "$command with a store in a folder of everybody's"
done
chmod 700 "$cache"
python3 - "$cache/store.db" "$TMP/trap.so" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
with db: db.execute("UPDATE binaries SET bytes = ?, size = length(?)", 2 * [open(sys.argv[2], "rb").read()])
END
WARPSMITH_CACHE=$cache/store.db run "${args[@]}"
if [ "$code" = 0 ]; then ok; else fail "a store with a planted binary: $code"; fi
not_run 'a planted binary'
if [ "$(id -u)" = 0 ]; then
    chown 1234 "$cache/store.db"
    WARPSMITH_CACHE=$cache/store.db run "${args[@]}"
    expect 3 'belongs to another user' "another user's store"
fi

# Without a home the store is not in the current folder.
cd "$TMP/here" || exit 1
(unset HOME XDG_CACHE_HOME WARPSMITH_CACHE && run cache ls)
if [ -e .cache ]; then fail 'a store in the current folder:'; else ok; fi
cd "$root" || exit 1

# Killed while compilers run; what was left goes with the next run.
mkdir "$TMP/tmp"
TMPDIR=$TMP/tmp "$WARPSMITH" bench workloads/softmax.py --device cpu --no-figures -D rows=24 -D dim=40 \
    --results "$TMP/results" >"$TMP/out" 2>"$TMP/err" </dev/null &
pid=$!
while kill -0 $pid 2>/dev/null && ! compgen -G "$TMP/tmp/*/in.c" >/dev/null; do sleep 0.02; done
kill -9 $pid
wait $pid 2>/dev/null
touch "$WARPSMITH_CACHE.lock-0011223344556677"
TMPDIR=$TMP/tmp run "${args[@]}"
left=$(ls -A "$TMP/tmp") locks=$(compgen -G "$WARPSMITH_CACHE.lock*")
if [ "$code" = 0 ] && [ -z "$left$locks" ]; then ok; else fail "left after the next run ($code): $left $locks"; fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
