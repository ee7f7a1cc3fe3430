#!/usr/bin/env bash
# Programs that use much of torch agree with their reference, on the CPU, under the default config.
set -euo pipefail

# Small kernels, hundreds of them: what they compute is asked.
[ -n "${TEST_LONG:-}" ] || export CC=$PWD/scripts/quick-cc.sh

for program in tests/run/programs/*.py; do
    "$WARPSMITH" run "$program" --device cpu --check >"$TMP/out" 2>&1 </dev/null &&
        grep -q 'all outputs agree' "$TMP/out" || {
        echo "$program: expected all outputs to agree with the reference, got:"
        cat "$TMP/out"
        exit 1
    }
done
