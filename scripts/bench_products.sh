#!/usr/bin/env bash
# bench_products.sh: matrix products: ours against PyTorch's eager (cuBLAS, on a CPU MKL), each case in both.
#
#   OUTDIR=out scripts/bench_products.sh
#   OUTDIR=out DEVICE=cpu CASES=small scripts/bench_products.sh
#   OUTDIR=out PARTS=ours ONLY='square.*bf16' scripts/bench_products.sh
#
# Like with like: dtype f32 is PyTorch without TF32, and ours as exact as that (six products of bf16, or multiply-adds);
# tf32 is f32 with PyTorch's allow_tf32 on, and --precision tf32; strict (CASES=strict) is f32 by multiply-adds alone, on
# both sides. Caches are flushed before every sample of both (scripts/torch_peer.py, `warpsmith bench`).
#
# Written: OUTDIR/results/*.csv, all rows; OUTDIR/products.csv, a line a case (scripts/product_table.py, which prints the
# geometric means, too). PyTorch's products are timed by one process behind ours: its start takes longer than they do.
#
# Environment: OUTDIR (product-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), PYTHON (python3)
#   PARTS  (ours torch)
#   CASES  (large), strict: its products of f32 by multiply-adds, or small: what a CPU does in some milliseconds
#   ONLY   a pattern: of the cases, those whose line matches
#   TOTAL  (540) seconds after which no further case of ours is started, and no longer does PyTorch take
#   ARGS   further arguments of bench
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

out=${OUTDIR:-product-results}
warpsmith=${WARPSMITH:-build/warpsmith}
device=${DEVICE:-cuda:0}
python=${PYTHON:-python3}
parts=${PARTS:-ours torch}
cases=${CASES:-large}
only=${ONLY:-}
total=${TOTAL:-540}
more=${ARGS:-} # split into words on purpose

. scripts/script_head.sh
case $cases in
large | strict | small) ;;
*)
    echo "bench_products: CASES is '$cases'; it is large, strict or small" >&2
    exit 2
    ;;
esac
for part in $parts; do
    case $part in
    ours | torch) ;;
    *)
        echo "bench_products: PARTS has no '$part'; it takes: ours torch" >&2
        exit 2
        ;;
    esac
done
need_warpsmith "$warpsmith"
mkdir -p "$out/results" "$out/logs" || exit 3

# "name workload dtype axis=value ..."
products() {
    local dtype n
    for dtype in "$@"; do
        for n in 512 1024 2048 4096 8192; do
            echo "square_$n matmul $dtype rows=$n inner=$n columns=$n"
        done
        cat <<END
nt_4096 matmul $dtype rows=4096 inner=4096 columns=4096 y_t=1
tn_4096 matmul $dtype rows=4096 inner=4096 columns=4096 x_t=1
tt_2048 matmul $dtype rows=2048 inner=2048 columns=2048 x_t=1 y_t=1
tall matmul $dtype rows=32768 inner=1024 columns=512
wide matmul $dtype rows=512 inner=1024 columns=32768
deep matmul $dtype rows=512 inner=65536 columns=512
deepest matmul $dtype rows=256 inner=524288 columns=256
shallow matmul $dtype rows=8192 inner=64 columns=8192
decode_8 matmul $dtype rows=8 inner=4096 columns=4096 y_t=1
decode_16 matmul $dtype rows=16 inner=4096 columns=11008 y_t=1
decode_64 matmul $dtype rows=64 inner=8192 columns=8192 y_t=1
odd_1000 matmul $dtype rows=1000 inner=1000 columns=1000
odd_4099 matmul $dtype rows=4099 inner=2049 columns=4097
batch_16 bmm $dtype batch=16 rows=1024 inner=1024 columns=1024
batch_256 bmm $dtype batch=256 rows=512 inner=64 columns=512
batch_1024 bmm $dtype batch=1024 rows=64 inner=128 columns=64
END
    done
}

small_products() {
    cat <<END
square_1024 matmul f32 rows=1024 inner=1024 columns=1024
shallow matmul f32 rows=4096 inner=64 columns=4096
thin matmul f32 rows=4096 inner=4096 columns=64
odd matmul f32 rows=513 inner=129 columns=1027
square_2048 matmul f32 rows=2048 inner=2048 columns=2048
tn_1024 matmul f32 rows=1024 inner=1024 columns=1024 x_t=1
nt_1024 matmul f32 rows=1024 inner=1024 columns=1024 y_t=1
square_1024 matmul bf16 rows=1024 inner=1024 columns=1024
square_1024 matmul f64 rows=1024 inner=1024 columns=1024
decode_8 matmul f32 rows=8 inner=4096 columns=4096 y_t=1
batch_64 bmm f32 batch=64 rows=128 inner=64 columns=128
END
}

# ours LOG COMMAND...: a failure is said and does not end the script. The case comes from stdin, so the command may not
# read that.
ours() {
    local log=$1 code=0
    shift
    timeout 100 "$@" >"$log" 2>&1 </dev/null || code=$?
    [ $code = 0 ] && return
    echo "bench_products: $name $dtype: ours: exit code $code ($log)" >&2
    status=1
}

status=0 matched=0
: >"$out/torch_cases.txt" || exit 3
finish_by=$((SECONDS + total))
while read -r name workload dtype axes; do
    [[ "$name $workload $dtype $axes" =~ $only ]] || continue
    log=$out/logs/${name}_$dtype
    type=$dtype precision=f32
    case $dtype in tf32 | strict) type=f32 precision=$dtype ;; esac
    matched=$((matched + 1))
    if [ $SECONDS -ge $finish_by ]; then
        echo "bench_products: no time left for $name $dtype" >&2
        status=1
        continue
    fi
    if [[ " $parts " == *" ours "* ]]; then
        # shellcheck disable=SC2046,SC2086
        ours "$log.ours" "$warpsmith" bench "workloads/$workload.py" --device "$device" --dtype "$type" \
            --precision "$precision" $(printf -- '-D %s ' $axes) --results "$out/results" --no-figures $more
    fi
    echo "workloads/$workload.py $type $precision $axes" >>"$out/torch_cases.txt"
done < <(case $cases in
    small) small_products ;;
    strict) products strict ;;
    large) products bf16 f32 tf32 ;;
    esac)
if [ $matched = 0 ]; then
    echo "bench_products: no case matches ONLY='$only'" >&2
    exit 2
fi
if [[ " $parts " == *" torch "* && -s $out/torch_cases.txt ]]; then
    code=0
    timeout "$total" "$python" scripts/torch_peer.py --cases "$out/torch_cases.txt" --device "$device" --ways eager \
        --results "$out/results" >"$out/logs/torch" 2>&1 </dev/null || code=$?
    [ $code = 0 ] || { echo "bench_products: PyTorch: exit code $code ($out/logs/torch)" >&2 && status=1; }
fi
"$python" scripts/product_table.py "$out"/results/*.csv >"$out/products.csv" || status=1
exit $status
