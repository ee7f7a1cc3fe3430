#!/usr/bin/env bash
# warpsmith cache: an empty store, wrong calls, files it must not trust. What it prints of a filled store is tested in
# tests/unit/test_tuner_cache.c.
set -uo pipefail

cd "$TMP"
failures=0
# expect RC "TEXT" ARGUMENTS...: exit status RC, TEXT in what is printed.
expect() {
    local want=$1 text=$2 said rc=0
    shift 2
    said=$("$WARPSMITH" cache "$@" 2>&1) || rc=$?
    if [ "$rc" != "$want" ] || [[ $said != *"$text"* ]]; then
        printf 'cache %s: exit %s, expected %s and "%s" in:\n%s\n' "$*" "$rc" "$want" "$text" "$said"
        failures=$((failures + 1))
    fi
}

expect 0 'usage: warpsmith cache' --help
expect 0 'example: warpsmith cache ls' ls --help
expect 2 'cache what? There are: ls, show, rm, export, import'
expect 2 "no command 'cache list'" list
expect 2 'one ID' rm

export WARPSMITH_CACHE=$TMP/deep/er/store.db
expect 0 '0 entries' ls
[ -f "$WARPSMITH_CACHE" ] || { echo 'the store and its folders were not made' && failures=$((failures + 1)); }
expect 1 'no entry 7' show 7
expect 1 'no entry 7' rm 7
expect 0 'removed 0 entries' rm --all
expect 0 'wrote 0 tuned kernels' export out.db
expect 0 '0 tuned kernels' import out.db
expect 2 'No such file' import none.db
echo 'a,b,c' >table.csv
expect 1 'cannot import' import table.csv

# A damaged store is moved aside, kept and said so; once.
head -c 20000 /dev/urandom >"$WARPSMITH_CACHE"
cp "$WARPSMITH_CACHE" junk
expect 0 "moved to '$WARPSMITH_CACHE.damaged-1'" ls
cmp -s junk "$WARPSMITH_CACHE.damaged-1" || { echo 'the damaged store was changed' && failures=$((failures + 1)); }
said=$("$WARPSMITH" cache ls 2>&1)
[[ $said != *damaged* ]] || { echo "said twice: $said" && failures=$((failures + 1)); }

# The XDG folder is the default.
unset WARPSMITH_CACHE
XDG_CACHE_HOME=$TMP/xdg expect 0 "$TMP/xdg/warpsmith/store.db" ls
WARPSMITH_CACHE=$TMP/junk/store.db expect 3 'Not a directory' ls

[ "$failures" = 0 ]
