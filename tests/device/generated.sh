# Every kernel kind in many configs on a GPU against the reference; then the same under compute-sanitizer, where it is
# installed: out-of-bounds accesses, races in shared memory, reads of what was never written.
set -eu
test=$BUILD/tests/unit/test_compile_generated
"$test" --device cuda:0 || { rc=$?; [ $rc = 3 ] && exit 77; exit $rc; }
sanitizer=$(command -v compute-sanitizer || true)
if [ -z "$sanitizer" ]; then
    echo "compute-sanitizer is not installed: its checks are skipped"
    exit 0
fi
for tool in memcheck racecheck initcheck; do
    echo "== $tool"
    "$sanitizer" --tool $tool --error-exitcode 9 --print-limit 5 "$test" --device cuda:0 'softmax(%x, -1)'
done
