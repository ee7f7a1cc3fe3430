# The cases of `make test` on a GPU against the reference; then a part of them under compute-sanitizer, where it is
# installed: out-of-bounds accesses, races in shared memory, reads of what was never written.
#
# EVERY=4 takes a quarter of the configs; SANITIZER_GRAPHS=16 one graph in 16 for each of the sanitizer's tools.
set -eu
test=$BUILD/tests/device/device_generated
"$test" cuda:0 --every "${EVERY:-1}" ||
    { rc=$?; [ $rc = 3 ] && echo "no CUDA device here" && exit 77; exit $rc; }
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
for tool in memcheck racecheck initcheck; do
    [ -n "$sanitizer" ] || continue
    echo "== $tool"
    "$sanitizer" --tool $tool --error-exitcode 9 --print-limit 5 \
        "$test" cuda:0 --graphs "${SANITIZER_GRAPHS:-16}" --every 4
done
[ -n "$sanitizer" ] || echo "compute-sanitizer is not installed: its checks are skipped"
