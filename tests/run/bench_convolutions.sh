#!/usr/bin/env bash
# scripts/bench_convolutions.sh: one of its small cases on the CPU, timed by warpsmith as it is, beside a PyTorch that is made
# up; that a second call goes on where the first one ended; what it says of failures, of time that is over, and of wrong calls.
set -euo pipefail

failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

# convolutions VARIABLE=VALUE...: sets status and said.
convolutions() {
    status=0
    said=$(env DEVICE=cpu OUTDIR="$OUTDIR" PYTHON=tests/run/torch_stub/timed "$@" scripts/bench_convolutions.sh 2>&1) || status=$?
}
expect() { [ "$status" = "$1" ] || fail "$2: exit status $status, expected $1" "$said"; }
says() { grep -qE -- "$1" <<<"$said" || fail "expected /$1/ in:" "$said"; }
says_not() { ! grep -qE -- "$1" <<<"$said" || fail "did not expect /$1/ in:" "$said"; }

# ---- on the CPU --------------------------------------------------------------------------------------------------------

OUTDIR=$TMP/out
convolutions CASES='^resnet_7_3x3_b1 f32 ' ARGS='--budget 1t --samples-max 5'
expect 0 "a convolution"
says '^f32, TF32 forbidden: 1 cases, geometric mean [0-9.]+, median [0-9.]+, worst [0-9.]+ \(resnet_7_3x3_b1\)$'
python3 - "$OUTDIR/convolutions.csv" <<'END' || fail "convolutions.csv:" "$(cat "$OUTDIR/convolutions.csv")"
import csv, sys

with open(sys.argv[1], newline="") as file:
    line, = csv.DictReader(file)
assert (line["name"], line["dtype"], line["precision"]) == ("resnet_7_3x3_b1", "f32", "f32"), "case"
assert {"batch=1", "channels=512", "width=7", "dims=2"} <= set(line["axes"].split()), "axes"
ours = float(line["ours_us"])
assert ours > 0 and float(line["default_us"]) > 0 and int(line["trials"]) > 0 and line["config"], "a time of ours"
assert float(line["eager_us"]) == 1000 and float(line["compile_us"]) == 500, "PyTorch's"
assert line["best_over_ours"] == f"{500 / ours:.3f}", "ratio"
assert line["tflops"] == f"{float(line['flops']) / ours / 1e6:.2f}", "TFLOP/s"
END

# A second call times nothing anew, and one of more cases the others alone.
cp "$OUTDIR/results/convolution.csv" "$TMP/before.csv"
convolutions CASES='^resnet_7_3x3_b1 f32 '
expect 0 "again"
cmp -s "$OUTDIR/results/convolution.csv" "$TMP/before.csv" || fail "a case was timed twice"
says_not ' (eager|compile|ours): '
convolutions CASES='^resnet_7_3x3_b1 (f32|tf32) ' PARTS=torch
expect 0 "PyTorch with TF32 allowed"
[ "$(cut -d, -f1,5,6 "$OUTDIR/convolutions.csv" | sort -u | wc -l)" = 3 ] || fail "two lines and a header:" \
    "$(cat "$OUTDIR/convolutions.csv")"
grep -q '^resnet_7_3x3_b1 convolution f32 tf32 batch=1 ' "$OUTDIR/cases.txt" || fail "cases.txt:" "$(cat "$OUTDIR/cases.txt")"

# Files of KernelBench, as they are.
mkdir -p "$TMP/kb/KernelBench/level1" "$TMP/kb/KernelBench/level2"
cat >"$TMP/kb/KernelBench/level1/7_conv.py" <<'END'
import torch
import torch.nn as nn

channels = 4

class Model(nn.Module):
    def __init__(self, channels):
        super(Model, self).__init__()
        self.conv = nn.Conv2d(channels, 8, 3)

    def forward(self, x):
        return torch.relu(self.conv(x))

def get_inputs():
    return [torch.randn(2, channels, 9, 9)]

def get_init_inputs():
    return [channels]
END
echo "channels = 4" >"$TMP/kb/KernelBench/level2/1_other.py"
OUTDIR=$TMP/kernelbench
convolutions KERNELBENCH="$TMP/kb" ARGS='--budget 1t --samples-max 5'
expect 0 "KernelBench"
says '^  geometric mean [0-9.]+, median [0-9.]+, worst [0-9.]+ \(level1/7_conv\)$'
[ "$(wc -l <"$OUTDIR/cases.txt")" = 1 ] || fail "one file has a convolution:" "$(cat "$OUTDIR/cases.txt")"

# ---- failures ----------------------------------------------------------------------------------------------------------

# A warpsmith that fails, and would eat the list of cases if it could: both cases are tried, the exit code is its own.
printf '#!/bin/sh\ncat\necho "made-up failure" >&2\nexit 7\n' >"$TMP/broken"
chmod +x "$TMP/broken"
OUTDIR=$TMP/failed
convolutions CASES='^resnet_7_(3x3|1x1) f32 ' WARPSMITH="$TMP/broken"
expect 1 "a warpsmith that fails"
says '^resnet_7_3x3 f32 f32 ours: crashed [0-9.]+ s exit 7: made-up failure$'
says '^resnet_7_1x1 f32 f32 ours: crashed [0-9.]+ s exit 7: made-up failure$'
says_not 'PyTorch: exit code'
grep -q '^made-up failure$' "$OUTDIR/logs/resnet_7_1x1_f32_f32_ours" || fail "the log does not have what it said"

OUTDIR=$TMP/none
convolutions CASES=small TOTAL=0
expect 1 "no time"
says '^bench_convolutions: no time left for 66 runs$'
says_not Traceback
convolutions CASES=all TOTAL=0 PARTS=ours
[ "$(wc -l <"$OUTDIR/cases.txt")" = 180 ] || fail "60 shapes in three precisions:" "$(wc -l "$OUTDIR/cases.txt")"
[ "$(cut -d' ' -f1 "$OUTDIR/cases.txt" | sort | uniq -c | awk '$1 != 3' | wc -l)" = 0 ] || fail "a name is used twice"

convolutions CASES=nonsense
expect 2 "no such case" && says "^bench_convolutions: no case matches CASES='nonsense'"
convolutions PARTS='ours theirs'
expect 2 "no such part" && says "PARTS has no 'theirs'; it takes: torch ours check\$"
convolutions WARPSMITH="$TMP/absent"
expect 3 "no binary"
status=0 && said=$(scripts/bench_convolutions.sh --help 2>&1) || status=$?
expect 0 --help && says 'OUTDIR=out scripts/bench_convolutions\.sh'
status=0 && said=$(scripts/bench_convolutions.sh resnet 2>&1) || status=$?
expect 2 "an argument"

# A line that is no case.
echo "convolution f32 batch=1" >"$TMP/wrong"
status=0 && said=$(PYTHONPATH=tests/run/torch_stub python3 -B scripts/torch_peer.py --cases "$TMP/wrong" --device cpu 2>&1) || status=$?
expect 2 "a wrong line" && says "a line is WORKLOAD DTYPE PRECISION "

[ $failures = 0 ]
