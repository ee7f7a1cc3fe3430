#!/usr/bin/env bash
# What a large program is compiled into: how often a compiler is called, how large kernels become.
# Counts, no times: scripts/bench_growth.sh has those.
set -euo pipefail

fail() {
    printf '%s\n' "$@"
    exit 1
}

# compile FILE ARGUMENT...: the table into $TMP/out.
compile() {
    "$WARPSMITH" compile "$1" --arch cpu "${@:2}" >"$TMP/out" 2>"$TMP/err" </dev/null ||
        fail "compile $*: status $?" "$(tail -n 20 "$TMP/err")"
}

cat >"$TMP/blocks.py" <<'END'
import torch
import torch.nn as nn
import torch.nn.functional as F

depth = 6


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)

    def forward(self, x):
        return F.gelu(self.norm(self.linear(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def get_inputs():
    return [torch.randn(8, 16)]
END

# Kernels that do the same are compiled once, however many there are.
for depth in 6 12; do
    compile "$TMP/blocks.py" -D depth=$depth --dump "$TMP/blocks$depth"
    kernels=$(($(wc -l <"$TMP/out") - 2)) compiled=$(grep -c ' ms  ' "$TMP/out")
    [ $kernels = $((2 * depth)) ] || fail "depth $depth: expected $((2 * depth)) kernels:" "$(cat "$TMP/out")"
    [ "$compiled" = 2 ] || fail "depth $depth: expected 2 compilations:" "$(cat "$TMP/out")"
    [ "$(find "$TMP/blocks$depth" -name '*.so' | wc -l)" = 2 ] || fail "depth $depth: expected 2 binaries"
    [ "$(find "$TMP/blocks$depth" -name '*.same' | wc -l)" = $((2 * depth - 2)) ] || fail "depth $depth: others say nothing"
done

# What a schedule is made by is gone when it is made: 500 products and what is between them, of which
# each might be one kernel with the next, are scheduled in 200 MB.
"$WARPSMITH" explain "$TMP/blocks.py" -D depth=500 --arch sm_90a --limit-memory 200 >"$TMP/out" 2>"$TMP/err" ||
    fail "500 blocks: status $?" "$(tail -n 3 "$TMP/err")"

# Nor does a look at each pair of what is summed up in training leave anything behind.
"$WARPSMITH" explain "$TMP/blocks.py" -D depth=60 --mode train --arch sm_90a --limit-memory 150 >"$TMP/out" 2>"$TMP/err" ||
    fail "60 blocks in training: status $?" "$(tail -n 3 "$TMP/err")"

# WS_LOGS=stages says what each stage takes.
WS_LOGS=stages compile "$TMP/blocks.py" -D depth=1
stages=$(sed -n 's/^\[stages\] \([a-z]*\): .* ms, .* ms of CPU, at most [0-9]* MB so far$/\1/p' "$TMP/err" | xargs)
[ "$stages" = "frontend capture decompose lower schedule kernel emit compile" ] || fail "stages:" "$(cat "$TMP/err")"

cat >"$TMP/chain.py" <<'END'
import torch

length = 120
rows = 1024


def chain(x):
    for i in range(length):
        x = x.sin() + i
    return x


def get_inputs():
    return [torch.randn(rows)]
END

# A kernel's instructions are bounded, which the fusion log says; its expensive functions are called.
compile "$TMP/chain.py" --dump "$TMP/chain"
[ "$(grep -c ' ms  ' "$TMP/out")" = 3 ] || fail "expected 3 kernels:" "$(cat "$TMP/out")"
grep -q ': not fused: 20[0-9]* instructions an element are too many for a kernel$' "$TMP"/chain/*_fusion.txt ||
    fail "the log does not say that the chain is cut:" "$(tail -n 3 "$TMP"/chain/*_fusion.txt | cut -c1-400)"
grep -q '^#define K_LARGE$' "$TMP"/chain/*_0.c || fail "a kernel of 56 sines writes each out"
compile "$TMP/chain.py" -D length=4 --dump "$TMP/short"
! grep -q '^#define K_LARGE$' "$TMP"/short/*_0.c || fail "a kernel of 4 sines calls a function for each"

# A GPU's thread has four sines side by side, of each.
code=0
"$WARPSMITH" compile "$TMP/chain.py" --arch sm_90a --dump "$TMP/gpu" >"$TMP/out" 2>"$TMP/err" </dev/null || code=$?
if [ $code = 0 ]; then
    grep -q '^#define K_LARGE$' "$TMP"/gpu/*.cu || fail "a GPU's kernel of 56 sines writes each out"
elif ! { [ $code = 3 ] && grep -q nvrtc "$TMP/err"; }; then
    fail "compile --arch sm_90a: status $code" "$(cat "$TMP/err")"
fi

# Long loops are captured step by step: what that takes beyond what the process had, in MiB. (What is freed stays with a
# sanitizer for a while.)
if ! grep -q __asan_init "$WARPSMITH"; then
    WS_LOGS=stages "$WARPSMITH" explain workloads/models/lstm.py >"$TMP/out" 2>"$TMP/err" </dev/null
    so_far() { sed -n "s/^\[stages\] $1: .*, at most \([0-9]*\) MB so far\$/\1/p" "$TMP/err"; }
    mib=$(($(so_far capture) - $(so_far frontend)))
    [ "$mib" -le 64 ] || fail "an LSTM of 6 layers and 512 steps is captured in $mib MiB, 64 are the limit"
fi
