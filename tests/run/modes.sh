#!/usr/bin/env bash
# --mode bwd and --mode train: every workload's gradients, computed by generated code, agree with the reference. What
# the modes add to a dump.
set -euo pipefail

# Small kernels, hundreds of them: what they compute is asked.
[ -n "${TEST_LONG:-}" ] || export CC=$PWD/scripts/quick-cc.sh

fail() {
    echo "$1"
    cat "$TMP/out"
    exit 1
}

for workload in workloads/*.py; do
    mapfile -t axes < <(sed -n 's/^\([a-z_]*\) = [0-9]*$/-D\n\1=16/p' "$workload")
    for mode in bwd train; do
        "$WARPSMITH" run "$workload" --mode "$mode" --device cpu "${axes[@]}" --check >"$TMP/out" 2>&1 </dev/null &&
            grep -q 'all outputs agree' "$TMP/out" || fail "$workload --mode $mode: expected all outputs to agree, got:"
    done
done

"$WARPSMITH" explain workloads/softmax.py --arch cpu --mode bwd -D rows=4 -D dim=8 --dump "$TMP/dump" \
    >"$TMP/out" 2>&1 </dev/null || fail "explain --mode bwd:"
for name in 03_fx_joint_graph 04_saved_tensors 05_fx_graph_transformed; do
    [ -s "$TMP/dump/$name.txt" ] || fail "no $name.txt in the dump"
done
grep -q '%tangent: f32\[4, 8\] = tangents\[0\]' "$TMP/dump/03_fx_joint_graph.txt" || fail "no tangent in the joint graph"
grep -q 'saved: 1 tensor, 128 bytes' "$TMP/dump/04_saved_tensors.txt" || fail "softmax saves more than its result"
WS_LOGS=aot_graphs "$WARPSMITH" explain workloads/softmax.py --arch cpu --mode train -D rows=4 -D dim=8 \
    >"$TMP/out" 2>&1 </dev/null || fail "explain --mode train:"
grep -q '^\[fx_joint_graph.txt\]' "$TMP/out" || fail "WS_LOGS=aot_graphs: expected the joint graph, got:"
