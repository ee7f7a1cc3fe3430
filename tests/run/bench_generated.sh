#!/usr/bin/env bash
# scripts/bench_generated.sh: the programs of a seed are the same each time, and PyTorch files; one of them on the CPU, timed by
# warpsmith as it is, beside a PyTorch that is made up; that a second call goes on where the first one ended; shards; what is
# said of failures, which end nothing, and of wrong calls.
set -euo pipefail

failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

# generated VARIABLE=VALUE...: sets status and said.
generated() {
    status=0
    said=$(env DEVICE=cpu SIZES=small OUTDIR="$OUTDIR" PYTHON=tests/run/torch_stub/timed PYTHONPATH=tests/run/torch_stub ARGS='--budget 1t --samples-max 5' "$@" \
        scripts/bench_generated.sh 2>&1) || status=$?
}
expect() { [ "$status" = "$1" ] || fail "$2: exit status $status, expected $1" "$said"; }
says() { grep -qE -- "$1" <<<"$said" || fail "expected /$1/ in:" "$said"; }

# ---- programs ----------------------------------------------------------------------------------------------------------

for i in a b; do
    scripts/generate_programs.py --out "$TMP/$i" --seeds 1-120 >"$TMP/$i.txt" || fail "no programs"
done
diff -r "$TMP/a" "$TMP/b" || fail "a seed has made two programs"
[ "$(ls "$TMP/a" | wc -l)" = 120 ] || fail "120 seeds are 120 files"
for step in softmax norm window scan transpose gather scatter summary reduce slice int8; do
    grep -qE "^generated_.* $step( |\$)" "$TMP/a.txt" || fail "no program has a $step"
done
[ "$(cut -d' ' -f4 "$TMP/a.txt" | sort -u | tr '\n' ' ')" = 'fwd train ' ] || fail "modes"

# ---- on the CPU --------------------------------------------------------------------------------------------------------

OUTDIR=$TMP/out
generated SEEDS=7
expect 0 "two programs"
says '^2 programs beside PyTorch: best of PyTorch over ours, geometric mean [0-9.]+, least [0-9.]+, [012] under 0.95$'
says "^2 programs: 2 ok; PyTorch failed in 0\$"
python3 - "$OUTDIR/generated.csv" <<'END' || fail "generated.csv:" "$(cat "$OUTDIR/generated.csv")"
import csv, sys

with open(sys.argv[1], newline="") as file:
    launch, line = csv.DictReader(file)
assert (launch["name"], line["name"], line["mode"], line["status"]) == ("generated_0", "generated_7", "fwd", "ok"), "case"
ours = float(line["ours_us"])
assert ours > 0 and float(line["default_us"]) > 0 and float(line["floor_us"]) > 0, "a time of ours"
assert float(line["torch_eager_us"]) == 1000 and float(line["torch_compile_us"]) == 500, "PyTorch's"
assert abs(float(line["best_over_ours"]) * ours / 500 - 1) < 0.02, "ratio"
assert line["kernel"] and line["config"] and int(line["launches"]) > 0 and line["reason"], "why"
END

# A second call times nothing anew.
cat "$OUTDIR"/results/*.csv >"$TMP/before"
generated SEEDS=7
expect 0 "again"
cat "$OUTDIR"/results/*.csv | cmp -s - "$TMP/before" || fail "a program was timed twice"

# ---- what held those that lost -----------------------------------------------------------------------------------------

# Rows as of a GPU: two kernels of 100 us and one too short to be told of, of a program that took PyTorch half as long. The first
# went at 95 % of the copy speed of 1,000 GB/s, the second had busy issue slots.
OUTDIR=$TMP/counted
mkdir -p "$OUTDIR/results" "$OUTDIR/why" "$OUTDIR/failed"
head="device,timestamp,git_rev,workload,mode,dtype,kernel,config,status,role,is_winner,median_us,min_us,bytes,gbps,roof_pct,unjudged,dram_bytes,l2_hit_pct,occupancy,issue_pct,pipe,pipe_pct,stall,stall_pct,counters"
at="GPU,2026-01-01T00:00:00Z,r,generated_9,fwd,f32"
{
    echo "$head"
    echo "$at,copy,,ok,roof,0,1,1,,1000,,,,,,,,,,,"
    echo "$at,program,a: x=1; b: x=2; c: x=3,ok,tuned,0,210,210,60000000,,,0,,,,,,,,,"
    echo "$at,program,,ok,torch_eager,0,105,105,,,,,,,,,,,,,"
} >"$OUTDIR/results/generated_9.csv"
{
    echo "$head"
    echo "$at,a,x=1,ok,variant,1,100,100,60000000,,60,,95000000,50,0.5,20,fma,10,long_scoreboard,60,cupti"
    echo "$at,b,x=2,ok,variant,1,100,100,60000000,,60,,60000000,50,0.5,80,fma,75,not_selected,30,cupti"
    echo "$at,c,x=3,ok,variant,1,10,10,1000,,1,,1000,50,0.5,1,fma,1,barrier,30,cupti"
} >"$OUTDIR/why/generated_9.csv"
echo "generated_9 none.py f32 fwd pointwise" >"$OUTDIR/cases.txt"
python3 -B scripts/generated_table.py "$OUTDIR/cases.txt" "$OUTDIR" >/dev/null || fail "a table of counted rows"
[ "$(cut -d, -f1,9,11-14 "$OUTDIR/misses.csv" | tr '\n' ' ')" = \
    'name,best_over_ours,share_pct,dram_pct,limit,kernel generated_9,0.500,48,95.0,bandwidth,a generated_9,0.500,48,60.0,issue slots,b ' ] ||
    fail "misses.csv:" "$(cat "$OUTDIR/misses.csv")"

# ---- shards and failures -----------------------------------------------------------------------------------------------

# Each seed is in one shard; a warpsmith that fails, and would eat the list if it could, costs its lines alone, and is not
# asked again; nor is a PyTorch that dies.
printf '#!/bin/sh\ncat\necho "warpsmith: made-up failure" >&2\necho "$2" >>"%s"\nexit 7\n' "$TMP/asked" >"$TMP/broken"
printf '#!/bin/sh\n[ "$1" != scripts/torch_peer.py ] || exit 139\nexec python3 -B "$@"\n' >"$TMP/dies"
chmod +x "$TMP/broken" "$TMP/dies"
for k in 1 2 2; do
    OUTDIR=$TMP/shard$k
    generated SEEDS=1-5 SHARD=$k/2 WARPSMITH="$TMP/broken" PYTHON="$TMP/dies"
    expect 1 "a warpsmith that fails"
    says '^generated_0 f32 fwd .* failed .* warpsmith: made-up failure$'
done
says "^3 programs: 3 failed; PyTorch failed in 3\$"
[ "$(grep -oE 'generated_[1-9]' "$TMP/asked" | sort | tr '\n' ' ')" = 'generated_1 generated_2 generated_3 generated_4 generated_5 ' ] ||
    fail "asked:" "$(cat "$TMP/asked")"
generated SEEDS=1-5 SHARD=2/2 WARPSMITH="$TMP/broken" PARTS=ours RETRY=1
[ "$(wc -l <"$TMP/asked")" = 10 ] || fail "RETRY=1 asks again:" "$(cat "$TMP/asked")"

OUTDIR=$TMP/none
generated SEEDS=1-3 TOTAL=0
expect 1 "no time"
says '^4 programs: 4 not timed'

generated PARTS='ours theirs'
expect 2 "no such part" && says "^bench_generated: PARTS has no 'theirs'; it takes: torch ours why\$"
generated SHARD=3/2
expect 2 "no such shard" && says "^bench_generated: SHARD is '3/2'; it is k/n, from 1/n to n/n\$"
generated SEEDS=7-
expect 2 "no seeds" && says "a seed or a range of them, as in 1-3,7, not '7-'"
generated WARPSMITH="$TMP/absent"
expect 3 "no binary"
status=0 && said=$(scripts/bench_generated.sh --help 2>&1) || status=$?
expect 0 --help && says 'OUTDIR=out SEEDS=1-200 scripts/bench_generated\.sh'

[ $failures = 0 ]
