#!/usr/bin/env bash
# Outputs that are views, and inputs with gaps: a program writes every output row-major, whatever strides the graph
# says; what it reads lies where the strides say. What is an input as it lies is that input, under another shape too.
set -euo pipefail

cat >"$TMP/views.py" <<'END'
import torch

def views(x, gaps):
    y = x + 1
    return y.t(), y[:, ::3], y[:1].expand(5, 8), gaps * 2, gaps, x, x.view(2, 16)

def get_inputs():
    return [torch.randn(4, 8), torch.randn(6, 8)[:, ::2]]
END
"$WARPSMITH" run "$TMP/views.py" --device cpu --check >"$TMP/out" 2>&1 </dev/null && grep -q 'all outputs agree' "$TMP/out" || {
    echo "expected all outputs to agree with the reference, got:"
    cat "$TMP/out"
    exit 1
}
