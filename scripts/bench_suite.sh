#!/usr/bin/env bash
# bench_suite.sh: the suite of memory-bound programs: ours against PyTorch and against the floor.
#
#   OUTDIR=out scripts/bench_suite.sh
#   OUTDIR=out PARTS=ours ONLY='softmax|xent' scripts/bench_suite.sh
#
# Parts, in PARTS (default: both):
#   ours    warpsmith bench of every case, on a store that starts empty
#   torch   real PyTorch on the same files: eager, torch.compile, max-autotune (scripts/torch_peer.py); skipped without
#           PyTorch. A case that OUTDIR/results has PyTorch's rows of already is not measured again
#
# Written: OUTDIR/results/*.csv, all rows; OUTDIR/suite.csv, a line a case, OUTDIR/suite.gp and, where there is gnuplot,
# suite.svg (scripts/suite_table.py makes these from the rows, and prints them with the geometric means).
#
# Environment: OUTDIR (suite-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), PYTHON (python3)
#   ONLY   a pattern: of the cases, those whose line matches
#   TOTAL  (540) seconds after which no further case is started
#   ARGS   () further arguments of bench
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

out=${OUTDIR:-suite-results}
warpsmith=${WARPSMITH:-build/warpsmith}
device=${DEVICE:-cuda:0}
python=${PYTHON:-python3}
parts=${PARTS:-ours torch}
only=${ONLY:-}
total=${TOTAL:-540}
more=${ARGS:-} # split into words on purpose

. scripts/script_head.sh
need_warpsmith "$warpsmith"
mkdir -p "$out/results" "$out/logs" || exit 3

# ---- cases: "name workload dtype mode axis=value ..." ------------------------------------------------------------------

cat >"$out/cases" <<'END'
simple_f32_8192x8192 relu_chain f32 fwd rows=8192 dim=8192
complex_f32_1000x1000 sum_mean f32 fwd rows=1000 dim=1000
complex_f32_16384x8192 sum_mean f32 fwd rows=16384 dim=8192
softmax_f32_4096x4096 softmax f32 fwd rows=4096 dim=4096
softmax_bf16_4096x4096 softmax bf16 fwd rows=4096 dim=4096
softmax_f32_32768x1024 softmax f32 fwd rows=32768 dim=1024
softmax_bf16_32768x1024 softmax bf16 fwd rows=32768 dim=1024
softmax_f32_16384x16384 softmax f32 fwd rows=16384 dim=16384
softmax_bf16_16384x16384 softmax bf16 fwd rows=16384 dim=16384
softmax_f32_256x131072 softmax f32 fwd rows=256 dim=131072
softmax_bf16_256x131072 softmax bf16 fwd rows=256 dim=131072
layernorm_bf16_16384x8192 layernorm bf16 fwd rows=16384 dim=8192
layernorm_f32_4096x4096 layernorm f32 fwd rows=4096 dim=4096
rmsnorm_res_bf16_16384x8192 rmsnorm_residual bf16 fwd rows=16384 dim=8192
gelu_bias_bf16_16384x8192 gelu_bias bf16 fwd rows=16384 dim=8192
swiglu_bf16_16384x14336 swiglu bf16 fwd rows=16384 dim=14336
xent_bf16_8192x50257 cross_entropy bf16 fwd rows=8192 vocab=50257
colsum_f32_16384x8192 column_sum f32 fwd rows=16384 dim=8192
fullsum_f32_268435456 full_sum f32 fwd n=268435456
transpose_add_f32_8192x8192 transpose_add f32 fwd rows=8192 cols=8192
rope_bf16_4x32x8192x128 rope bf16 fwd seq=8192
layernorm_bwd_bf16_16384x4096 layernorm_bwd bf16 fwd rows=16384 dim=4096
softmax_bwd_bf16_16384x8192 softmax_bwd bf16 fwd rows=16384 dim=8192
gelu_bias_bf16_8192x8192 gelu_bias bf16 bwd rows=8192 dim=8192
rmsnorm_bf16_16384x4096 rmsnorm bf16 bwd rows=16384 dim=4096
swiglu_bf16_8192x14336 swiglu bf16 bwd rows=8192 dim=14336
xent_bf16_4096x32000 cross_entropy bf16 bwd rows=4096 vocab=32000
odd_softmax_bf16_5000x3001 softmax bf16 fwd rows=5000 dim=3001
odd_layernorm_bf16_7777x2056 layernorm bf16 fwd rows=7777 dim=2056
odd_gelu_bias_bf16_4099x4097 gelu_bias bf16 fwd rows=4099 dim=4097
batchnorm_bf16_64x256x28x28 batchnorm bf16 fwd batch=64
cumsum_f32_8192x8192 cumsum f32 fwd rows=8192 dim=8192
embedding_bf16_32768x1024 embedding bf16 fwd batch=32
adamw_f32_67108864 adamw f32 fwd n=67108864
maxpool_bf16_32x64x112x112 maxpool bf16 fwd batch=32
END

# ---- running ---------------------------------------------------------------------------------------------------------

started=$SECONDS
failed=0 left=0
: >"$out/failures"

# run LOG COMMAND...
run() {
    local log=$out/logs/$1
    shift
    timeout 120 "$@" >"$log" 2>&1 || {
        failed=$((failed + 1))
        echo "$name: $(grep -m1 -E '^(warpsmith|torch_peer)[ a-z]*: ' "$log" || tail -1 "$log")" >>"$out/failures"
    }
}

# Has PyTorch been timed on this case?
has_torch() {
    "$python" scripts/suite_table.py --has-torch "$name" "$out/cases" "$out"/results/*.csv >/dev/null 2>&1
}

for part in $parts; do
    case $part in
    ours) rm -f "$out"/store.db* ;;
    torch)
        if ! "$python" -c 'import torch' 2>/dev/null; then
            echo "torch: skipped, $python has no torch"
            continue
        fi
        ;;
    *)
        echo "bench_suite: PARTS has no '$part'; it takes: ours torch" >&2
        exit 2
        ;;
    esac
    while read -r name workload dtype mode axes; do
        [[ "$name $workload $dtype $mode $axes" =~ $only ]] || continue
        if [ "$part" = torch ] && has_torch; then continue; fi
        if [ $((SECONDS - started)) -ge "$total" ]; then
            left=$((left + 1))
            continue
        fi
        # shellcheck disable=SC2086 # axes and more are words
        if [ "$part" = ours ]; then
            WARPSMITH_CACHE=$out/store.db run "$name.txt" "$warpsmith" bench "workloads/$workload.py" --device "$device" \
                --dtype "$dtype" --mode "$mode" $(printf -- '-D %s ' $axes) --results "$out/results" --no-figures $more
        else
            run "torch_$name.txt" "$python" scripts/torch_peer.py --workload "workloads/$workload.py" --device "$device" \
                --dtype "$dtype" --mode "$mode" --axes $axes --results "$out/results"
        fi
    done <"$out/cases"
done
rm -f "$out"/store.db*

"$python" scripts/suite_table.py --out "$out" "$out/cases" "$out"/results/*.csv || failed=$((failed + 1))
cat "$out/failures"
rm -f "$out/failures"
echo "$failed failed, $left left out for lack of time; $((SECONDS - started)) s"
[ "$failed" = 0 ] && [ "$left" = 0 ]
