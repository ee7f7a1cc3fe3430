#!/usr/bin/env bash
# run-tests.sh: run tests in parallel, one line each, and count.
#
#   scripts/run-tests.sh TEST...      a TEST is a cmocka binary, a script, or a folder of scripts
#
# Each test runs from the project's root with these in its environment:
#   BUILD            the build folder            TMP, TMPDIR      a fresh folder of its own, removed afterwards
#   WARPSMITH        the command                 WARPSMITH_CACHE  a store of its own, in TMP
#   WARPSMITH_CPU_CACHE  1M: what a test times need not be cold, and some machines show caches of hundreds of MB
# With TEST_LONG=1 in the environment tests run all of their cases, not a part; with TEST_STOP=1 those with many cases
# end at the first that fails.
# A cmocka binary counts as its tests. A script counts as one, by its exit status (77: skipped, its last line says
# why), unless its last line is "N passed, N failed". A passing test's output is not shown, a failing one's is.
#
# JOBS (default: the cores) tests run at once; one that takes longer than TEST_SECONDS (default 1800) has failed.
# The last line is "N passed, N failed". Exit status: 0 none failed, 1 some failed, 2 wrong call, 3 all were skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

# count RC LOG: sets passed, failed and skipped from what a test wrote.
count() {
    local last
    last=$(tail -n 1 "$2")
    passed=0 failed=0 skipped=0
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]}
    elif grep -q '^\[==========\]' "$2"; then
        read -r passed failed skipped < <(awk '
            /^\[  PASSED  \] [0-9]+ test/ { p += $4 }
            /^\[  FAILED  \] [0-9]+ test/ { f += $4 }
            /^\[  SKIPPED \] [0-9]+ test/ { s += $4 }
            END { print p + 0, f + 0, s + 0 }' "$2")
    elif [ "$1" = 0 ]; then
        passed=1
    elif [ "$1" = 77 ]; then
        skipped=1
        return
    fi
    # A crash or a timeout cuts the summary off.
    if [ "$1" != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
}

run_one() {
    local name=${1#"$BUILD/"} run=("$(realpath "$1")") dir rc=0 start text passed failed skipped
    dir=$RESULTS/$(tr / _ <<<"$name")
    mkdir -p "$dir/tmp"
    start=$EPOCHREALTIME
    [ -x "$1" ] || run=(bash "$1")
    BUILD=$(realpath -m "$BUILD") TMP=$dir/tmp TMPDIR=$dir/tmp WARPSMITH_CACHE=$dir/tmp/store.db \
        WARPSMITH_CPU_CACHE=1M \
        timeout -k 5 "$TEST_SECONDS" "${run[@]}" >"$dir/log" 2>&1 </dev/null || rc=$?
    count $rc "$dir/log"
    printf '%d %d %d\n' "$passed" "$failed" "$skipped" >"$dir/count"
    text=$(printf '%-44s %4d passed' "$name" "$passed")
    [ "$failed" = 0 ] || text+=", $failed failed"
    [ "$skipped" = 0 ] || text+=", $skipped skipped"
    # On a machine that others use, too, only the CPU's seconds can be compared.
    times >"$dir/times" # a subshell has its own
    text+=$(awk -v a="$start" -v b="$EPOCHREALTIME" '
        function seconds(t) { split(t, part, /[ms]/); return 60 * part[1] + part[2] }
        NR == 2 { printf "  %.1f s, %.1f s of the CPU", b - a, seconds($1) + seconds($2) }' "$dir/times")
    [ $rc != 77 ] || text+=$'\n'"    $(tail -n 1 "$dir/log")"
    if [ "$failed" != 0 ]; then
        [ $rc != 124 ] || text+="  (stopped after $TEST_SECONDS s)"
        text+=$'\n'$(sed 's/^/    /' "$dir/log")$'\n'"    exit status $rc"
    fi
    if [ "$failed" != 0 ]; then
        {
            printf '%s\n' "$text" | grep -vE '\[ *(OK|RUN) *\]' | tail -n 20
            # cmocka's assertions, wherever in the output they are
            grep -E -A 1 '^\[  ERROR   \]' "$dir/log" | sed "s|^|    $name: |" | head -n 20
        } >"$dir/failure" || true
    fi
    # One test's lines stay together.
    (flock 9 && printf '%s\n' "$text") 9>"$RESULTS/lock"
    rm -rf "$dir/tmp"
}

if [ "${1:-}" = --one ]; then
    run_one "$2"
    exit
fi
[ $# -gt 0 ] || {
    echo "usage: scripts/run-tests.sh TEST..." >&2
    exit 2
}

# What the caller's shell or make has set is not for the tests.
unset MAKEFLAGS MFLAGS MAKELEVEL WS_LOGS
export BUILD=${BUILD:-build} TEST_SECONDS=${TEST_SECONDS:-1800}
# Idle threads that spin would starve the tests beside them.
export CMOCKA_MESSAGE_OUTPUT=stdout OMP_WAIT_POLICY=passive
WARPSMITH=$(realpath -m "$BUILD/warpsmith")
RESULTS=$(mktemp -d "${TMPDIR:-/tmp}/warpsmith-tests.XXXXXX")
export WARPSMITH RESULTS
trap 'rm -rf "$RESULTS"' EXIT

tests=()
for t; do
    if [ -d "$t" ]; then
        for f in "$t"/*; do
            if [ -f "$f" ] && [[ -x $f || $f == *.sh ]]; then tests+=("$f"); fi
        done
    elif [ -f "$t" ]; then
        tests+=("$t")
    else
        echo "run-tests: there is no $t" >&2
        exit 2
    fi
done

# The long ones start first, so that no core waits for one at the end.
early=() late=()
for t in "${tests[@]}"; do
    case $t in
    */test_graphs | */test_bytes | */test_tuner_flow | */test_tile_program | */test_compile_chained | */test_compile_plain | \
        tests/run/scripts.sh | tests/run/modules.sh) early+=("$t") ;;
    *) late+=("$t") ;;
    esac
done
tests=("${early[@]}" "${late[@]}")

[ ${#tests[@]} -eq 0 ] || printf '%s\0' "${tests[@]}" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" "$0" --one
read -r passed failed skipped < <(cat /dev/null "$RESULTS"/*/count 2>/dev/null |
    awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }')
[ "$skipped" = 0 ] || echo "$skipped skipped"
# What failed once more, for whoever sees only the end of a long output.
cat /dev/null "$RESULTS"/*/failure 2>/dev/null | sed 's/^/again: /' || true
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] || exit 1
[ "$passed" != 0 ] || exit 3
