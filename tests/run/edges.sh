#!/usr/bin/env bash
# Values at the edge beside PyTorch's: every row of tests/edges/edges.py as the program goes, and one in five compiled, or
# all of them in `make test-long`.
set -euo pipefail

# What is computed at the edge is asked.
[ -n "${TEST_LONG:-}" ] || export CC=$PWD/scripts/quick-cc.sh

every=5
[ -z "${TEST_LONG:-}" ] || every=1

sed "s/^hold_all()$/hold_all(every=$every)/" tests/edges/edges.py >"$TMP/edges.py"
"$WARPSMITH" run "$TMP/edges.py" --device cpu
