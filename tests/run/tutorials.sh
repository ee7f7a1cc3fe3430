#!/usr/bin/env bash
# The pages of PyTorch's tutorials about torch.compile, retyped: `warpsmith run` of each prints what PyTorch prints.
#
#   TORCH_PYTHON=python3 tests/run/tutorials.sh     writes the .out files again, by a Python that has PyTorch
set -euo pipefail

if [ -n "${TORCH_PYTHON:-}" ]; then
    for script in tests/scripts/tutorials/*.py; do "$TORCH_PYTHON" "$script" >"${script%.py}.out"; done
    exit
fi
passed=0 failed=0
for script in tests/scripts/tutorials/*.py; do
    if ! timeout 120 "$WARPSMITH" run "$script" --device cpu >"$TMP/out" 2>"$TMP/err" </dev/null; then
        printf '%s failed:\n%s\n' "$script" "$(cat "$TMP/err")"
        failed=$((failed + 1))
    elif ! diff "${script%.py}.out" "$TMP/out" >"$TMP/diff"; then
        printf '%s prints other text than PyTorch (<: expected):\n%s\n' "$script" "$(cat "$TMP/diff")"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
    case $script in # what is logged is said
    */logs.py)
        for text in 'graph(%x\|class GraphModule' ': fused, saves' 'kernel 0\|block k_'; do
            grep -q "$text" "$TMP/err" || { echo "logs.py does not say '$text':"; cat "$TMP/err"; exit 1; }
        done
        ;;
    esac
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
