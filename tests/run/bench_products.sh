#!/usr/bin/env bash
# scripts/bench_products.sh: two of its cases on the CPU, timed by warpsmith as it is, beside a PyTorch that is made up; what
# it says of failures, of time that is over, and of calls that are wrong.
set -euo pipefail

failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

# products VARIABLE=VALUE...: sets status and said.
products() {
    status=0
    said=$(env DEVICE=cpu OUTDIR="$OUTDIR" PYTHON=tests/run/torch_stub/timed "$@" scripts/bench_products.sh 2>&1) || status=$?
}
expect() { [ "$status" = "$1" ] || fail "$2: exit status $status, expected $1" "$said"; }
says() { grep -qE -- "$1" <<<"$said" || fail "expected /$1/ in:" "$said"; }
says_not() { ! grep -qE -- "$1" <<<"$said" || fail "did not expect /$1/ in:" "$said"; }

# ---- on the CPU --------------------------------------------------------------------------------------------------------

OUTDIR=$TMP/out
products ONLY='^(square_512|batch_1024) .* f32 ' ARGS='--budget 1t --samples-max 5'
expect 0 "two products"
says '^f32: 2 cases, geometric mean [0-9.]+, least [0-9.]+$'
says '^first guess over best: median [0-9.]+$'
python3 - "$OUTDIR/products.csv" <<'END' || fail "products.csv:" "$(cat "$OUTDIR/products.csv")"
import csv, sys

with open(sys.argv[1], newline="") as file:
    lines = list(csv.DictReader(file))
assert [(l["workload"], l["dtype"], l["axes"]) for l in lines] == [
    ("bmm", "f32", "batch=1024 columns=64 inner=128 rows=64"),
    ("matmul", "f32", "columns=512 inner=512 rows=512 x_t=0 y_t=0")], "cases"
for l, flops in zip(lines, (2 * 1024 * 64 * 64 * 128, 2 * 512**3)):
    ours = float(l["ours_us"])
    assert int(float(l["flops"])) == flops, "flops"
    assert ours > 0 and float(l["default_us"]) > 0 and int(l["trials"]) > 0 and l["config"], "a time of ours"
    assert float(l["torch_us"]) == 1000 and l["torch_over_ours"] == f"{1000 / ours:.3f}", "ratio"
    assert l["tflops"] == f"{flops / ours / 1e6:.1f}", "TFLOP/s"
END
for name in square_512 batch_1024; do
    grep -q '^tuned ' "$OUTDIR/logs/${name}_f32.ours" || fail "no times in the log of $name"
done

# TF32 beside PyTorch's with allow_tf32 on: a CPU has none, so that its row is f32's, and PyTorch's is another one's.
OUTDIR=$TMP/tf32
products ONLY='^square_512 .* tf32 ' ARGS='--budget 1t --samples-max 5'
expect 0 "tf32"
[ "$(cut -d, -f4,5 "$OUTDIR/products.csv" | tail -1)" = f32,f32 ] || fail "a CPU's row:" "$(cat "$OUTDIR/products.csv")"
python3 - "$OUTDIR/results/matmul.csv" <<'END' || fail "PyTorch was not asked for tf32"
import csv, sys

with open(sys.argv[1], newline="") as file:
    assert {row["precision"] for row in csv.DictReader(file) if row["role"] == "torch_eager"} == {"tf32"}
END
OUTDIR=$TMP/strict
products CASES=strict ONLY='^square_512 ' ARGS='--budget 1t --samples-max 5'
expect 0 "strict" && says '^f32 strict: 1 cases, geometric mean '

# PyTorch's time alone is no line.
OUTDIR=$TMP/torch
products ONLY='^square_512 .* bf16 ' PARTS=torch
expect 0 "PyTorch alone"
[ "$(wc -l <"$OUTDIR/products.csv")" = 1 ] || fail "a line without a time of ours:" "$(cat "$OUTDIR/products.csv")"
[ ! -e "$OUTDIR/logs/square_512_bf16.ours" ] || fail "PARTS=torch has run warpsmith"

# ---- failures ----------------------------------------------------------------------------------------------------------

# A warpsmith that fails, and would eat the list of cases if it could: both cases are tried, the exit code is its own.
printf '#!/bin/sh\ncat\necho "made-up failure" >&2\nexit 7\n' >"$TMP/broken"
chmod +x "$TMP/broken"
OUTDIR=$TMP/failed
products ONLY='^square_(512|1024) .* f32 ' WARPSMITH="$TMP/broken"
expect 1 "a warpsmith that fails"
says '^bench_products: square_512 f32: ours: exit code 7 '
says '^bench_products: square_1024 f32: ours: exit code 7 '
says_not 'PyTorch: exit code'
grep -q '^made-up failure$' "$OUTDIR/logs/square_1024_f32.ours" || fail "the log does not have what it said"

OUTDIR=$TMP/none
products ONLY='^odd_' TOTAL=0
expect 1 "no time"
[ "$(grep -c '^bench_products: no time left for odd_' <<<"$said")" = 6 ] || fail "six cases have no time left:" "$said"
says_not Traceback

products ONLY=nonsense
expect 2 "no such case" && says "^bench_products: no case matches ONLY='nonsense'\$"
products PARTS='ours theirs'
expect 2 "no such part" && says "^bench_products: PARTS has no 'theirs'; it takes: ours torch\$"
products CASES=tiny
expect 2 "no such cases" && says "^bench_products: CASES is 'tiny'; it is large, strict or small\$"
OUTDIR=$TMP/small
products CASES=small ONLY='^decode_' TOTAL=0
expect 1 "no time" && says '^bench_products: no time left for decode_8 f32$'
OUTDIR=$TMP/none
products WARPSMITH="$TMP/absent"
expect 3 "no binary"
status=0 && said=$(scripts/bench_products.sh --help 2>&1) || status=$?
expect 0 --help && says 'OUTDIR=out scripts/bench_products\.sh'
status=0 && said=$(scripts/bench_products.sh matmul 2>&1) || status=$?
expect 2 "an argument"

[ $failures = 0 ]
