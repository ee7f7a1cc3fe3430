# The cases of `make test` on a GPU against the reference; then a part of them under compute-sanitizer, where it is
# installed: out-of-bounds accesses, races in shared memory, reads of what was never written.
set -eu
test=$BUILD/tests/device/device_generated
"$test" cuda:0 || { rc=$?; [ $rc = 3 ] && echo "no CUDA device here" && exit 77; exit $rc; }
sanitizer=$(command -v compute-sanitizer || true)
for tool in memcheck racecheck initcheck; do
    [ -n "$sanitizer" ] || continue
    echo "== $tool"
    "$sanitizer" --tool $tool --error-exitcode 9 --print-limit 5 "$test" cuda:0 --every "${SANITIZER_EVERY:-64}"
done
[ -n "$sanitizer" ] || echo "compute-sanitizer is not installed: its checks are skipped"
