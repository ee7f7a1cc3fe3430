#!/usr/bin/env bash
# The models of workloads/models, and attention's variants, at small sizes: each is one graph, and its kernels on the CPU give the reference's numbers.
# Of experts the whole has no bound, as roundings may decide which expert a token goes to: there its kernels are judged alone.
set -euo pipefail

# Small kernels, hundreds of them: what they compute is asked.
[ -n "${TEST_LONG:-}" ] || export CC=$PWD/scripts/quick-cc.sh

passed=0 failed=0
check() { # NAME MODE AXIS=VALUE...
    local name=$1 mode=$2 axes=() file
    shift 2
    for axis; do axes+=(-D "$axis"); done
    file=workloads/models/$name.py
    [ -e "$file" ] || file=workloads/attention/$name.py
    if "$WARPSMITH" run "$file" --device cpu --mode "$mode" --check "${axes[@]}" >"$TMP/out" 2>"$TMP/err" \
        </dev/null && grep -q 'all outputs agree' "$TMP/out" &&
        if [ "$name" = moe ]; then grep -q 'each kernel alone: 1[0-9] of' "$TMP/out"; else ! grep -q 'not judged' "$TMP/out"; fi; then
        passed=$((passed + 1))
    else
        printf '%s\n' "$name, mode $mode:" "$(cat "$TMP/out" "$TMP/err")"
        failed=$((failed + 1))
    fi
}
check gpt2 fwd batch=2 length=12 layers=1 heads=2 width=16 vocabulary=50 context=16
check gpt2_train train batch=2 length=12 layers=1 heads=2 width=16 vocabulary=50
check gpt2_decode fwd batch=2 context=16 layers=1 heads=2 width=16 vocabulary=50
check vit fwd batch=2 image=16 patch=4 layers=1 heads=2 width=16 classes=10
check unet_block fwd batch=2 channels=8 size=8 groups=4
check mamba_block fwd batch=2 length=12 width=16 states=4
check moe fwd batch=2 length=12 width=16 inner=24 experts=4 room=8
check dlrm fwd batch=8 tables=3 rows=50 width=8 bag=2
small=(batch=1 heads=4 queries=24 keys=24 size=16)
check attention_variant train "${small[@]}" kv_heads=4 causal=1 cap=20 alibi=1 window=8
check attention_variant fwd "${small[@]}" kv_heads=2 causal=1
check attention_variant fwd batch=2 heads=4 kv_heads=2 queries=1 keys=40 size=16
echo "$passed passed, $failed failed"
[ $failed = 0 ]
