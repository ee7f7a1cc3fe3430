#!/usr/bin/env bash
# bench_fused.sh: matrix products with what stands before or behind them: ours against PyTorch's eager, torch.compile and
# max-autotune; and a product with a vector, which is bandwidth.
#
#   OUTDIR=out scripts/bench_fused.sh
#   OUTDIR=out DEVICE=cpu CASES=small WAYS=eager,compile scripts/bench_fused.sh
#   OUTDIR=out PARTS=ours ONLY='^mm_softmax bf16' scripts/bench_fused.sh
#
# Like with like: dtype f32 is PyTorch with TF32 forbidden, and ours as exact as that; tf32 is f32 with PyTorch's allow_tf32 on,
# and --precision tf32. Caches are flushed before every sample of all. A case that OUTDIR has is not timed again.
#
# Written: OUTDIR/results/*.csv, all rows; OUTDIR/runs.csv, what became of each case; OUTDIR/fused.csv, a line a case
# (scripts/case_table.py, which prints the geometric means and the worst cases, too).
#
# Environment: OUTDIR (fused-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), PYTHON (python3)
#   PARTS  (torch ours)
#   CASES  (all) or small: what a CPU does in some milliseconds, in f32
#   ONLY   a pattern: of these, those whose line `name workload dtype precision axis=value ...` matches
#   WAYS   (eager,compile,max-autotune) of PyTorch; AHEAD (0) processes that compile for torch.compile before
#   TOTAL  (540) seconds after which nothing runs; LIMIT (300) seconds for one case in one way
#   RETRY  1: what failed is run again
#   ARGS   further arguments of bench
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

caller=bench_fused table=fused ways=eager,compile,max-autotune
. scripts/script_head.sh
. scripts/bench_cases.sh
need_warpsmith "$warpsmith"

# "workload axis=value ..."
products() {
    cat <<'END'
linear_gelu rows=8192 inner=4096 outer=16384
mm_softmax n=4096
mm_relu_sum rows=4096 inner=4096 columns=4096
triangular n=4096
mlp_swiglu rows=4096 dim=4096 hidden=11008
qkv_rope batch=4 seq=2048 heads=32 dim=128
lora rows=4096 inner=4096 outer=4096 rank=16
gemv rows=8192 inner=8192
END
}

small_products() {
    cat <<'END'
linear_gelu rows=512 inner=512 outer=512
mm_softmax n=512
mm_relu_sum rows=512 inner=512 columns=512
triangular n=512
gemv rows=4096 inner=4096
END
}

# as_cases DTYPE...: of the products on stdin "name workload dtype precision axis=value ..."
as_cases() {
    local products dtype workload axes
    products=$(cat)
    for dtype in "$@"; do
        while read -r workload axes; do
            case $dtype in
            tf32) echo "$workload $workload f32 tf32 $axes" ;;
            *) echo "$workload $workload $dtype f32 $axes" ;;
            esac
        done <<<"$products"
    done
}

case ${CASES:-all} in
all) products | as_cases bf16 f32 tf32 ;;
small) small_products | as_cases f32 ;;
*)
    echo "$caller: CASES is '$CASES'; it is all or small" >&2
    exit 2
    ;;
esac | chosen
run_cases
exit $status
