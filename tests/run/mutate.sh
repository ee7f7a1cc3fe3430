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

# What changes nothing is not drawn (the head of mutate.py): neither hints, nor the order of what is compared.
python3 - <<'END'
import sys
sys.path.insert(0, 'scripts')
import mutate

def all_of(body):
    source = mutate.Source('a.c', 'int other;\nint one;\nint f(int n) {\n    int x = 0;\n    ' + body + '\n    return x;\n}\n')
    mutants = [source.edited(edits) for i in range(len(source.tokens)) for _, edits in source.choices(i) if source.block[i] >= 0]
    return {m.split('\n')[4].strip() for m in mutants} - {body}

def expect(body, some, never):
    found = all_of(body)
    for m in some:
        assert m in found, (body, m, found)
    for m in never:
        assert m not in found, (body, m, found)

expect('if (!strcmp(a, b)) x = 2;', ['if (strcmp(a, b)) x = 2;', 'if (!strcmp(a, b)) x = 3;'], ['if (!strcmp(b, a)) x = 2;'])
expect('if (strcmp(a, b) < 0) x = 2;', ['if (strcmp(b, a) < 0) x = 2;'], [])
expect('if (strncmp(a, b, 3) != 0) x = 2;', ['if (strncmp(a, 3, b) != 0) x = 2;'], ['if (strncmp(b, a, 3) != 0) x = 2;'])
expect('x = n ? 2 * n : 8;', ['x = n ? 3 * n : 8;', 'x = n ? 2 + n : 8;'], ['x = n ? 2 * n : 9;'])
expect('x = n ? 2 * n : 1;', ['x = n ? 2 * n : 0;'], ['x = n ? 2 * n : 2;'])
expect('x = n ? 2 * x : 8;', ['x = n ? 2 * x : 9;'], [])
expect('char a[8], b[9];', [], ['char a[7], b[9];', 'char a[8], b[10];'])
expect('x = a[8] + b[9];', ['x = a[8] + b[10];'], [])
expect('fflush(stdout);', [], [';'])
expect('fflush(file);', [';'], [])
expect('posix_fadvise(n, 0, 0, 3);', [], [';', 'posix_fadvise(n, 0, 1, 3);'])
END
