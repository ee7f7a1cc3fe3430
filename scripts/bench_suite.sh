#!/usr/bin/env bash
# bench_suite.sh: the suite of memory-bound programs: ours against PyTorch and against the floor.
#
#   OUTDIR=out scripts/bench_suite.sh
#   OUTDIR=out PARTS=ours ONLY='softmax|xent' scripts/bench_suite.sh
#   OUTDIR=out DEVICE=cpu scripts/bench_suite.sh
#
# On the CPU the cases are f32 and of 64 MB a tensor, and others may use the machine: ours and PyTorch take turns, ROUNDS
# times a case, and the least time of each counts. Both have a thread a core, bound to it. max-autotune is left out there:
# it changes nothing but products of matrices.
#
# Parts, in PARTS (default: all):
#   ours    warpsmith bench of every case, on a store that starts empty
#   torch   real PyTorch on the same files: eager, torch.compile, max-autotune (scripts/torch_peer.py); skipped without
#           PyTorch. A case that OUTDIR/results or EARLIER has PyTorch's times of already is not measured again. On the
#           CPU, where compiling takes most of it, all cases are compiled first, as many at a time as there are cores
#   why     what the hardware counts of large cases of ours that stay below 92 % of the roof; not on the CPU
#
# Written: OUTDIR/results/*.csv and, of why, OUTDIR/why/*.csv, all rows; OUTDIR/suite.csv, a line a case,
# OUTDIR/misses.csv, what was counted, OUTDIR/suite.gp and, where there is gnuplot, suite.svg (scripts/suite_table.py makes
# these from the rows, and prints them with the geometric means).
#
# Environment: OUTDIR (suite-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), PYTHON (python3)
#   ONLY   a pattern: of the cases, those whose line matches
#   EARLIER  a suite.csv of this kind of device, whose times of PyTorch are kept where none are newer
#   TOTAL  (540; on the CPU 3600) seconds after which no further case is started
#   ROUNDS (1; on the CPU 2) times that the parts of a case are run; more than one implies least times
#   ARGS   (on the CPU: --budget 6) further arguments of bench
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

out=${OUTDIR:-suite-results}
warpsmith=${WARPSMITH:-build/warpsmith}
device=${DEVICE:-cuda:0}
python=${PYTHON:-python3}
parts=${PARTS:-ours torch why}
only=${ONLY:-}
earlier=()
[ -z "${EARLIER:-}" ] || earlier=(--earlier "$EARLIER")
if [ "$device" = cpu ]; then
    total=${TOTAL:-3600} rounds=${ROUNDS:-2} more=${ARGS---budget 6} ways=eager,compile
else
    total=${TOTAL:-540} rounds=${ROUNDS:-1} more=${ARGS:-} ways=eager,compile,max-autotune # more: split into words on purpose
fi

. scripts/script_head.sh
need_warpsmith "$warpsmith"
mkdir -p "$out/results" "$out/logs" || exit 3

# ---- cases: "name workload dtype mode axis=value ..." ------------------------------------------------------------------

cuda_cases() {
    cat <<'END'
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
}

cpu_cases() {
    cat <<'END'
relu_chain_4096x4096 relu_chain f32 fwd rows=4096 dim=4096
sum_mean_4096x4096 sum_mean f32 fwd rows=4096 dim=4096
softmax_4096x4096 softmax f32 fwd rows=4096 dim=4096
softmax_131072x128 softmax f32 fwd rows=131072 dim=128
softmax_128x131072 softmax f32 fwd rows=128 dim=131072
odd_softmax_5000x3001 softmax f32 fwd rows=5000 dim=3001
log_softmax_4096x4096 log_softmax f32 fwd rows=4096 dim=4096
softmax_bwd_4096x4096 softmax_bwd f32 fwd rows=4096 dim=4096
layernorm_4096x4096 layernorm f32 fwd rows=4096 dim=4096
odd_layernorm_7777x2056 layernorm f32 fwd rows=7777 dim=2056
layernorm_bwd_4096x4096 layernorm_bwd f32 fwd rows=4096 dim=4096
rmsnorm_res_4096x4096 rmsnorm_residual f32 fwd rows=4096 dim=4096
rmsnorm_4096x4096 rmsnorm f32 bwd rows=4096 dim=4096
gelu_bias_4096x4096 gelu_bias f32 fwd rows=4096 dim=4096
odd_gelu_bias_4099x4097 gelu_bias f32 fwd rows=4099 dim=4097
gelu_bias_bwd_4096x4096 gelu_bias f32 bwd rows=4096 dim=4096
swiglu_4096x4096 swiglu f32 fwd rows=4096 dim=4096
swiglu_bwd_4096x4096 swiglu f32 bwd rows=4096 dim=4096
xent_512x32000 cross_entropy f32 fwd rows=512 vocab=32000
xent_bwd_512x32000 cross_entropy f32 bwd rows=512 vocab=32000
colsum_4096x4096 column_sum f32 fwd rows=4096 dim=4096
fullsum_16777216 full_sum f32 fwd n=16777216
transpose_add_4096x4096 transpose_add f32 fwd rows=4096 cols=4096
rope_4x32x1024x128 rope f32 fwd seq=1024
batchnorm_64x256x28x28 batchnorm f32 fwd batch=64
cumsum_4096x4096 cumsum f32 fwd rows=4096 dim=4096
embedding_16384x1024 embedding f32 fwd batch=16
adamw_16777216 adamw f32 fwd n=16777216
maxpool_32x64x112x112 maxpool f32 fwd batch=32
END
}

if [ "$device" = cpu ]; then cpu_cases; else cuda_cases; fi >"$out/cases"

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
    "$python" scripts/suite_table.py --has-torch "$name" --ways "$ways" ${earlier[@]+"${earlier[@]}"} "$out/cases" \
        "$out"/results/*.csv >/dev/null 2>&1
}

# On the CPU PyTorch takes the vector instructions that the processor names: to try them by a compiler takes each process
# 10 s. What is timed has its threads bound to cores as ours are, and its tensors in huge pages; bound, processes that only
# compile would all have their main threads on the first core.
untried=(env TORCHINDUCTOR_VEC_ISA_OK=1) placed=()
[ "$device" != cpu ] ||
    placed=("${untried[@]}" OMP_PROC_BIND=true OMP_PLACES=cores GLIBC_TUNABLES=glibc.malloc.hugetlb=1)

# shellcheck disable=SC2046,SC2086 # axes and more are words
run_ours() {
    WARPSMITH_CACHE=$out/store.db run "$name.txt" "$warpsmith" bench "workloads/$workload.py" --device "$device" \
        --dtype "$dtype" --mode "$mode" $(printf -- '-D %s ' $axes) --results "$out/results" --no-figures $more
}

# shellcheck disable=SC2086
run_torch() {
    run "torch_$name.txt" ${placed[@]+"${placed[@]}"} "$python" scripts/torch_peer.py --workload "workloads/$workload.py" --device "$device" \
        --dtype "$dtype" --mode "$mode" --axes $axes --ways "$ways" --results "$out/results"
}

# shellcheck disable=SC2086
compile_torch() {
    timeout 300 "${untried[@]}" "$python" scripts/torch_peer.py --workload "workloads/$workload.py" --device "$device" \
        --dtype "$dtype" --mode "$mode" --axes $axes --ways "$ways" --compile-only >"$out/logs/compile_$name.txt" 2>&1
}

# Before any of it is timed: what PyTorch is timed on, compiled by all cores.
compile_all_torch() {
    local cores
    cores=$(nproc)
    # As a whole path: its compilers run in folders of their own.
    export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR:-$(realpath "$out")/inductor}
    while read -r name workload dtype mode axes; do
        [[ "$name $workload $dtype $mode $axes" =~ $only ]] || continue
        if has_torch; then continue; fi
        while [ "$(jobs -rp | wc -l)" -ge "$cores" ]; do wait -n || true; done
        compile_torch &
    done <"$out/cases"
    wait
}

# shellcheck disable=SC2046,SC2086
run_why() {
    WARPSMITH_CACHE=$out/store.db run "why_$name.txt" "$warpsmith" bench "workloads/$workload.py" --device "$device" \
        --dtype "$dtype" --mode "$mode" $(printf -- '-D %s ' $axes) --results "$out/why" --no-figures --profile $more
}

# each PART...: run these parts of every case.
each() {
    local part
    while read -r name workload dtype mode axes; do
        [[ "$name $workload $dtype $mode $axes" =~ $only ]] || continue
        for part in "$@"; do
            if [ "$part" = torch ] && [ "$rounds" = 1 ] && has_torch; then continue; fi
            if [ "$part" = why ] && ! grep -qx "$name" "$out/misses"; then continue; fi
            if [ $((SECONDS - started)) -ge "$total" ]; then
                left=$((left + 1))
                continue
            fi
            "run_$part"
        done
    done <"$out/cases"
}

kept=() least=()
for part in $parts; do
    case $part in
    ours) rm -f "$out"/store.db* ;;
    torch)
        if ! "$python" -c 'import torch' 2>/dev/null; then
            echo "torch: skipped, $python has no torch"
            continue
        fi
        ;;
    why)
        [ "$device" != cpu ] || continue
        rm -rf "$out/why"
        mkdir -p "$out/why"
        ;;
    *)
        echo "bench_suite: PARTS has no '$part'; it takes: ours torch why" >&2
        exit 2
        ;;
    esac
    kept+=("$part")
done
[[ "$device ${kept[*]-}" != cpu*torch* ]] || compile_all_torch
if [ "$rounds" = 1 ]; then
    for part in ${kept[@]+"${kept[@]}"}; do
        [ "$part" != why ] || "$python" scripts/suite_table.py --misses "$out/cases" "$out"/results/*.csv >"$out/misses"
        each "$part"
    done
else
    for ((i = 0; i < rounds; i++)); do each ${kept[@]+"${kept[@]}"}; done
    least+=(--least)
fi
rm -rf "$out"/store.db* "$out/misses" "$out/inductor"

"$python" scripts/suite_table.py ${least[@]+"${least[@]}"} ${earlier[@]+"${earlier[@]}"} --out "$out" --counted "$out/why" \
    "$out/cases" "$out"/results/*.csv || failed=$((failed + 1))
cat "$out/failures"
rm -f "$out/failures"
echo "$failed failed, $left left out for lack of time; $((SECONDS - started)) s"
[ "$failed" = 0 ] && [ "$left" = 0 ]
