#!/usr/bin/env bash
# The VM of the capture against python3 (tests/fuzz/python_diff.py): scripts, a few random expressions and programs.
set -euo pipefail

diff=(python3 -W ignore tests/fuzz/python_diff.py "$BUILD/tests/fuzz/run_python")
failed=0
"${diff[@]}" random 1 400 >"$TMP/random" 2>&1 || failed=1
"${diff[@]}" programs 1 200 >"$TMP/programs" 2>&1 || failed=1
# The words of exceptions change from release to release; ours are those of 3.11.
if python3 -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then
    "${diff[@]}" scripts >"$TMP/scripts" 2>&1 || failed=1
fi
grep -hv '^[0-9]* passed' "$TMP"/random "$TMP"/programs "$TMP"/scripts 2>/dev/null || true
awk '/^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3 } END { printf "%d passed, %d failed\n", p, f }' \
    "$TMP"/random "$TMP"/programs "$TMP"/scripts 2>/dev/null
exit $failed
