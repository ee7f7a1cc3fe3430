#!/usr/bin/env bash
# bench_kernelbench.sh PATH: KernelBench's problems at their own sizes: ours against PyTorch's eager and torch.compile.
#
#   OUTDIR=out scripts/bench_kernelbench.sh KernelBench
#   OUTDIR=out LEVELS=1 PRECISIONS=tf32 SHARD=0/2 scripts/bench_kernelbench.sh KernelBench
#   OUTDIR=out CONTAINS='nn\.Conv' WAYS=eager scripts/bench_kernelbench.sh KernelBench
#
# PATH is of a checkout. Each comparison says what PyTorch may do: f32 is PyTorch with TF32 forbidden, and ours as exact as
# that; tf32 is TF32 allowed in products and convolutions, and ours so; default (if asked for) is PyTorch's own setting,
# TF32 in convolutions and not in products, beside ours of tf32. Models are in training mode, as KernelBench has them.
# A problem is right if `bench` has judged its outputs, against a reference in double precision, and found them right;
# with PARTS="torch ours check" outputs are also compared with PyTorch's, at sizes of at most 4 million elements a tensor.
#
# What OUTDIR has is not run again: a call goes on where the last one ended, of whatever kind its end was. The tables of
# several OUTDIRs are one by scripts/case_table.py OUTDIR ... --fast.
#
# Written: OUTDIR/results/*.csv, all rows; OUTDIR/runs.csv, what became of each; OUTDIR/kernelbench.csv, a line for each problem
# and precision (scripts/case_table.py, which prints fast_p and the losses, too).
#
# Environment: OUTDIR (kernelbench-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), PYTHON (python3)
#   PARTS  (torch ours) and check, in their order
#   LEVELS (1,2,3)   PRECISIONS (f32,tf32; on the CPU f32) and default, in their order
#   ONLY   a pattern: of the cases, those whose line `level1/3_Name path f32 precision` matches
#   CONTAINS  a pattern: problems whose file has it
#   SHARD  (0/1) I/N: every Nth problem from the Ith on
#   TOTAL  (540) seconds after which nothing runs; LIMIT (120) seconds for one problem in one way
#   WAYS   (eager,compile) of PyTorch
#   AHEAD  (half the cores; on the CPU 0) processes that compile what torch.compile makes before anything is timed
#   RETRY  1: what failed is run again
#   ARGS   (--no-search --samples-max=9) of bench
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
[ $# != 1 ] || [ "${1#-}" != "$1" ] || set -- "$(realpath -- "$1")"
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

caller=bench_kernelbench table=kernelbench ways=eager,compile limit=120 args='--no-search --samples-max=9'
kernelbench=${1-}
case $# in
1) [ "${1#-}" != "$1" ] || set -- ;;
0)
    echo "$caller: the path of a checkout of KernelBench is needed, see --help" >&2
    exit 2
    ;;
esac
. scripts/script_head.sh
. scripts/bench_cases.sh
need_warpsmith "$warpsmith"
if [ "$device" = cpu ]; then precisions=f32; else precisions=f32,tf32 ahead=$((($(nproc) + 1) / 2)); fi
precisions=${PRECISIONS:-$precisions}
for precision in ${precisions//,/ }; do
    case $precision in
    f32 | tf32 | default) ;;
    *)
        echo "$caller: PRECISIONS has no '$precision'; it takes: f32,tf32,default" >&2
        exit 2
        ;;
    esac
done

# "level1/3_Name path f32 precision", a level's files by their numbers.
all_cases() {
    local root=$kernelbench level name file precision
    [ ! -d "$root/KernelBench" ] || root=$root/KernelBench
    for precision in ${precisions//,/ }; do
        for level in ${LEVELS:-1,2,3}; do
            for level in ${level//,/ }; do
                [ -d "$root/level$level" ] || continue
                while read -r name; do
                    file=$root/level$level/$name
                    [ -z "${CONTAINS:-}" ] || grep -qE -- "$CONTAINS" "$file" || continue
                    echo "level$level/${name%.py} '$file' f32 $precision"
                done < <(cd "$root/level$level" && ls | grep -E '^[0-9]+_.*\.py$' | sort -n)
            done
        done
    done
}
all_cases | chosen
run_cases --fast
exit $status
