# The main job on a GPU: every workload is tuned and checked, in f32 and bf16 by turns and for some seconds each; what was
# tuned to its end is found in the store by a second run.
set -eu
bench() { "$WARPSMITH" bench "$@" --device cuda:0 --results "$TMP/results" --no-figures; }
out=$(bench workloads/softmax.py 2>&1) ||
    { rc=$?; echo "$out"; [ $rc = 3 ] && echo "no CUDA device here" && exit 77; exit $rc; }
echo "$out"
dtype=f32
for w in workloads/*.py; do
    bench "$w" --dtype $dtype --budget 3 --samples-max 20
    [ $dtype = f32 ] && dtype=bf16 || dtype=f32
done
bench workloads/softmax.py --profile | tee "$TMP/second"
grep -q "cache hit" "$TMP/second"
# Counted, or said why not; either way what bounds the kernel is in words.
grep -qE "bound by|not explained" "$TMP/second"
