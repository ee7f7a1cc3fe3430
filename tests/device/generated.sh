# The cases of `make test` on a GPU against the reference; then a part of them under compute-sanitizer, where it is
# installed: out-of-bounds accesses, races in shared memory, reads of what was never written.
#
# JOBS processes share them, for most of the time goes to compilers and to the interpreter. EVERY=4 takes a quarter of the
# configs; SANITIZER_GRAPHS=16 one graph in 16 for each of the sanitizer's tools.
set -eu
test=$BUILD/tests/device/device_generated
jobs=${JOBS:-$(nproc)}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
for ((k = 0; k < jobs; k++)); do
    "$test" cuda:0 --every "${EVERY:-1}" --graphs "$jobs" --first $k >"$logs/$k" 2>&1 &
    running[k]=$!
done
worst=0
for ((k = 0; k < jobs; k++)); do
    wait "${running[k]}" || worst=$(($? > worst ? $? : worst))
done
[ $worst = 3 ] && echo "no CUDA device here" && exit 77
cat "$logs"/*
[ $worst = 0 ] || exit $worst
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
for tool in memcheck racecheck initcheck; do
    [ -n "$sanitizer" ] || continue
    echo "== $tool"
    "$sanitizer" --tool $tool --error-exitcode 9 --print-limit 5 \
        "$test" cuda:0 --graphs "${SANITIZER_GRAPHS:-16}" --every 4
done
[ -n "$sanitizer" ] || echo "compute-sanitizer is not installed: its checks are skipped"
