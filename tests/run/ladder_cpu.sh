#!/usr/bin/env bash
# A ladder on the CPU: `bench -D dim=64:512:*2` tunes four sizes and stores the ranges that they make; sizes that were
# never tuned then hit a range, take the nearest, or miss, and say what changed.
set -euo pipefail

# Which sizes are tuned and found again is asked, not how fast they are.
[ -n "${TEST_LONG:-}" ] || export CC=$PWD/scripts/quick-cc.sh

fail() {
    printf '%s\n' "$@"
    exit 1
}

results=$TMP/results
bench() {
    "$WARPSMITH" bench "$@" --device cpu --results "$results" --no-figures --samples-max 8 >"$TMP/out" 2>"$TMP/err" \
        </dev/null || fail "bench $* failed:" "$(cat "$TMP/out" "$TMP/err")"
}
said() { grep -qE -- "$1" "$TMP/out" || fail "expected /$1/ in:" "$(cat "$TMP/out" "$TMP/err")"; }
said_not() { ! grep -qE -- "$1" "$TMP/out" || fail "did not expect /$1/ in:" "$(cat "$TMP/out")"; }
warned() { grep -qE -- "$1" "$TMP/err" || fail "expected /$1/ in:" "$(cat "$TMP/err")"; }
rows() { python3 -c 'import csv, sys
print(sum(1 for r in csv.DictReader(open(sys.argv[1])) if eval(sys.argv[2])))' "$1" "$2"; }

csv=$results/softmax.csv
bench workloads/softmax.py -D rows=16 -D dim=64:512:*2 --budget 0
said '^ranges of dim, from rows=16 dim=s0$'
said '^    (64 <= dim|dim == 64)'
said '(dim <= 512|dim == 512).*: x='
said '^configs known before: 0 tuned at this size, 0 in a tuned range,$'
said '^    0 from the nearest sizes, 4 not known$'
[ "$(rows "$csv" 'r["role"] == "tuned"')" = 4 ] || fail "four rungs, four programs"
[ "$(rows "$csv" 'r["role"] == "variant" and r["guard"] == "dim == 256"')" -ge 1 ] || fail "a rung's rows say its size"

# Every rung is a point, found at its own size before any range.
bench workloads/softmax.py -D rows=16 -D dim=256
said '^cache hit'
said '^configs known before: 1 tuned at this size, 0 in a tuned range'

# Between the rungs, whose winners all are legal at any size on the CPU, some range holds.
before=$(rows "$csv" True)
bench workloads/softmax.py -D rows=16 -D dim=200
said '^hit: k_amax_sub_exp_sum_div_0 at dim=200: x=.*, tuned for .*dim'
said '^nothing to search'
said '^tuned '
said '^configs known before: 0 tuned at this size, 1 in a tuned range,$'
[ "$(rows "$csv" True)" = $((before + 4)) ] || fail "a hit is timed as a program, and nothing else"
[ "$(rows "$csv" 'r["role"] == "tuned" and "dim=200" in r["axes"] and "dim" in r["guard"]')" = 1 ] ||
    fail "the row of a hit says for which sizes its config was tuned"

# run takes what there is, and says where it is from.
"$WARPSMITH" run workloads/softmax.py -D rows=16 -D dim=200 --device cpu --check >"$TMP/out" 2>&1 ||
    fail "run failed:" "$(cat "$TMP/out")"
said '  x=.*  \(tuned for .*dim'
said 'check: all outputs agree with the reference'

# Beyond the ends nothing is claimed: the nearest is named, and taken only where nothing may be searched.
bench workloads/softmax.py -D rows=16 -D dim=2048 --no-search
warned '^warning: .*no range holds for dim=2048; the nearest, .*: taken unmeasured$'
said '^    1 from the nearest sizes, 0 not known'
said_not 'configs: '
bench workloads/softmax.py -D rows=16 -D dim=32 --budget 0
warned '^warning: .*no range holds for dim=32; the nearest, .*: tried first$'
said '^tuning 1 of 1 kernel: never tuned'

# Other rows are another graph, for which no range holds; the nearest sizes that were tuned do instead.
near='rows == 16 && dim == (128|256)'
bench workloads/softmax.py -D rows=8 -D dim=200 --no-search
warned "^warning: k_amax_sub_exp_sum_div_0: never tuned at these sizes; the nearest, $near, has x=.*: taken unmeasured\$"
said '^    1 from the nearest sizes, 0 not known'
[ "$(rows "$csv" 'r["role"] == "tuned" and "rows=8" in r["axes"] and "rows == 16" in r["guard"]')" = 1 ] ||
    fail "the row says for which sizes its config was tuned"
"$WARPSMITH" run workloads/softmax.py -D rows=8 -D dim=200 --device cpu >"$TMP/out" 2>&1
said "  x=.*  \\(nearest is $near\\)\$"

# Where nothing is near and nothing may be searched, the default runs, and is no winner.
before=$(rows "$csv" 'r["role"] == "tuned"')
bench workloads/softmax.py -D rows=8 -D dim=200 --no-search --dtype f16
said '^miss: k_.* runs under its default config'
[ "$(rows "$csv" 'r["role"] == "tuned"')" = "$before" ] || fail "a default was recorded as tuned"

# A script's graphs find what bench has tuned: the first is captured for one size, the second for all.
run_script() {
    WS_LOGS=autotune "$WARPSMITH" run tests/scripts/bench/ranges.py --device cpu --explain >"$TMP/out" 2>"$TMP/err" ||
        fail "the script failed:" "$(cat "$TMP/out" "$TMP/err")"
    [ "$(grep -c True "$TMP/out")" = 4 ] || fail "wrong values:" "$(cat "$TMP/out")"
}
run_script
said '^Configs known before: 1 tuned at this size, 2 in a tuned range, 1 from the nearest sizes, 0 not known'
warned '^\[autotune\] k_amax_sub_exp_sum_div_0: hit: x='
warned '^\[autotune\] k_amax_sub_exp_sum_div_0: nearest: x=.*, tuned for .*s0'

# Kernels of a range of multiples are made for multiples; other sizes are outside of it.
python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE keys SET guard = guard || \" && s0 % 8 == 0\" WHERE guard <> \"\"")
db.commit()' "$WARPSMITH_CACHE"
run_script
said '^Configs known before: 1 tuned at this size, 1 in a tuned range, 2 from the nearest sizes, 0 not known'

# A range is valid for the text of its kernel at its first rung, which is that of the point. Where it is another, nothing
# of the range is used, and that is said.
sql() {
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(*[row[0] for row in db.execute(sys.argv[2])])
db.commit()' "$WARPSMITH_CACHE" "$1"
}
texts=$(sql 'SELECT (SELECT DISTINCT text_hash FROM trials JOIN keys p ON p.id = trials.key WHERE p.graph = r.point_graph
    AND p.kernel = r.point_kernel AND config = w.config) = w.text_hash FROM winners w JOIN keys k ON k.id = w.key JOIN
    (SELECT *, min(size) FROM rungs GROUP BY key) r ON r.key = k.id')
[[ $texts =~ ^1(\ 1)*$ ]] || fail "texts of ranges and of their first rungs are others: $texts"
sql 'UPDATE winners SET text_hash = text_hash || "0" WHERE key IN (SELECT key FROM rungs)'
run_script
said '1 tuned at this size, 0 in a tuned range, 0 from the nearest sizes, 3 not known, 3 of these passed over stale ones'
warned '^\[autotune\] k_amax_sub_exp_sum_div_0: miss, the default config: its text changed since it was tuned$'
"$WARPSMITH" run workloads/softmax.py -D rows=16 -D dim=208 --device cpu >"$TMP/out" 2>&1
said '  x=.*  \(default; the text changed since its ranges were tuned\)$'
bench workloads/softmax.py -D rows=16 -D dim=208 --budget 0
said '^tuning 1 of 1 kernel: never tuned at this size, and of ranges: the text changed since they were tuned$'
sql 'UPDATE winners SET text_hash = substr(text_hash, 1, 16) WHERE length(text_hash) > 16'

# Another toolchain: a miss that names it.
cat >"$TMP/other-cc" <<'EOF'
#!/bin/sh
[ "$1" != --version ] || { echo 'other cc 99.1'; exit; }
exec cc "$@"
EOF
chmod +x "$TMP/other-cc"
CC=$TMP/other-cc bench workloads/softmax.py -D rows=16 -D dim=300 --budget 0
said '^tuning 1 of 1 kernel: never tuned at this size, and of ranges: toolchain changed: .* -> other cc 99.1'
said '^    0 from the nearest sizes, 1 not known'

# An axis that a number of the graph follows stays a point, and says why.
cat >"$TMP/shift.py" <<'EOF'
import torch

n = 8


def shift(x):
    return x + n


def get_inputs():
    return [torch.randn(n)]
EOF
bench "$TMP/shift.py" -D n=8:16:*2 --budget 0
said '^n=8 and 1 more stay tuned as points, n cannot be a symbol there: a number of the graph follows it: %add: f32.8. = add\(%x, 8, '
said_not '^ranges of'

# Ranges end where the graph becomes another.
cat >"$TMP/branch.py" <<'EOF'
import torch

n = 8


def branch(x):
    if x.shape[0] > 20:
        return x * 2
    return x + 1


def get_inputs():
    return [torch.randn(n)]
EOF
bench "$TMP/branch.py" -D n=8:32:*2 --budget 0
said '^    8 <= n && n <= 16: x=.*  \(2 sizes measured\)$'
said '^    n == 32: x=.*  \(1 size measured\)$'

# cache: a range among the entries, with its rungs and how often it was used; it goes with its id.
"$WARPSMITH" cache ls >"$TMP/out" 2>"$TMP/err"
said 'rows=16 dim=s0: (64 <= s0|s0 == 64)'
warned 'lookups: [1-9][0-9]* found, [1-9][0-9]* by the nearest sizes, [1-9][0-9]* not found$'
id=$(awk '/dim=s0: / { print $1; exit }' "$TMP/out")
"$WARPSMITH" cache show "$id" >"$TMP/out"
said '^s0 +dim$'
said '^lookups '
said '^ +64 '
"$WARPSMITH" cache export "$TMP/tuned.db" 2>/dev/null
WARPSMITH_CACHE=$TMP/imported.db "$WARPSMITH" cache import "$TMP/tuned.db" 2>/dev/null
WARPSMITH_CACHE=$TMP/imported.db "$WARPSMITH" run workloads/softmax.py -D rows=16 -D dim=104 --device cpu >"$TMP/out" 2>&1
said '\(tuned for .*dim'
"$WARPSMITH" cache rm "$id"
"$WARPSMITH" cache ls >"$TMP/out" 2>/dev/null
! grep -qE "^ *$id " "$TMP/out" || fail "entry $id is still there"

# A rung that fails is said, and costs no other one anything.
cat >"$TMP/pairs.py" <<'EOF'
import torch

n = 8


def pairs(x):
    return x.view(-1, 4) + 1


def get_inputs():
    return [torch.randn(n)]
EOF
"$WARPSMITH" bench "$TMP/pairs.py" -D n=6:8:+1 --device cpu --results "$results" --no-figures --samples-max 8 --budget 0 \
    >"$TMP/out" 2>"$TMP/err" && fail 'a rung of 6 cannot be viewed as fours'
warned 'shape .* is invalid for input of size 6'
said '^tuned '

# What is no ladder.
for wrong in 'dim=8:4:*2' 'dim=8:16:*1' 'dim=8:16:*2,32'; do
    status=0
    "$WARPSMITH" bench workloads/softmax.py -D "$wrong" --device cpu >"$TMP/out" 2>&1 || status=$?
    [ "$status" = 2 ] || fail "-D $wrong: exit $status" "$(cat "$TMP/out")"
done
