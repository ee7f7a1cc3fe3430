#!/usr/bin/env bash
# scripts/mutate.py: the same seed makes the same mutants, one token or statement each, none in an assertion or a comment.
set -euo pipefail

scripts/mutate.py --list --n 300 --seed 7 --only compiler/kernel >"$TMP/one"
scripts/mutate.py --list --n 300 --seed 7 --only compiler/kernel >"$TMP/two"
cmp "$TMP/one" "$TMP/two"
[ "$(grep -c '^  + ' "$TMP/one")" = 300 ] || { echo "expected 300 mutants, got:"; head "$TMP/one"; exit 1; }
if paste -d '\n' - - - <"$TMP/one" | grep -E '^  - .*WS_(ASSERT|BUG)\(.*\);$' | grep -v ') WS_'; then
    echo 'an assertion was changed'
    exit 1
fi
# Every kind comes up, and each line differs from what it was.
for kind in operator constant condition statement return arguments; do
    grep -q ": $kind\$" "$TMP/one" || { echo "no mutant of kind $kind"; exit 1; }
done
awk '/^  - / { was = substr($0, 5) } /^  \+ / && substr($0, 5) == was { print "unchanged: " was; bad = 1 } END { exit bad }' "$TMP/one"
