# The main job on a GPU: every workload is tuned and checked, a second run finds it all in the store.
set -eu
out=$("$WARPSMITH" bench workloads/softmax.py --device cuda:0 --results "$TMP/results" --no-figures 2>&1) ||
    { rc=$?; echo "$out"; [ $rc = 3 ] && echo "no CUDA device here" && exit 77; exit $rc; }
echo "$out"
for w in workloads/*.py; do
    for dtype in f32 bf16; do
        "$WARPSMITH" bench "$w" --device cuda:0 --dtype $dtype --results "$TMP/results" --no-figures
    done
done
"$WARPSMITH" bench workloads/softmax.py --device cuda:0 --results "$TMP/results" --no-figures | tee "$TMP/second"
grep -q "cache hit" "$TMP/second"
