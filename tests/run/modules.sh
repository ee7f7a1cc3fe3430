#!/usr/bin/env bash
# Modules as people write them, in the shape of workloads: each is one graph, and its kernels on the CPU give the
# reference's numbers, every one of them judged; of a few the gradients, too.
set -euo pipefail

passed=0 failed=0
check() { # FILE MODE
    if "$WARPSMITH" run "$1" --device cpu --mode "$2" --check >"$TMP/out" 2>"$TMP/err" </dev/null &&
        grep -q 'all outputs agree' "$TMP/out" && ! grep -q 'not judged' "$TMP/out"; then
        passed=$((passed + 1))
    else
        printf '%s\n' "$1, mode $2:" "$(cat "$TMP/out" "$TMP/err")"
        failed=$((failed + 1))
        [ -z "${TEST_STOP:-}" ] || exit 1
    fi
}
for module in tests/modules/*.py; do check "$module" fwd; done
for name in layernorm_by_hand focal_loss squeeze_excite cancelled_mean pooled_gate normed_weights convnet separable_conv causal_conv rnn_aligned own_gradients gradient_penalty timm_block conv_mixer functional captured_graph known_shapes complex_numbers; do check tests/modules/$name.py train; done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
