#!/usr/bin/env bash
# bench_generated.sh: memory-bound programs that a generator made by seed: ours against PyTorch and against the floor.
#
#   OUTDIR=out SEEDS=1-200 scripts/bench_generated.sh
#   OUTDIR=out SEEDS=1-200 SHARD=2/4 scripts/bench_generated.sh
#   OUTDIR=out DEVICE=cpu SIZES=small SEEDS=1-60 scripts/bench_generated.sh
#
# scripts/generate_programs.py writes the programs, plain PyTorch files, which both run. Every output of ours is judged (see
# `warpsmith bench --help`). What OUTDIR has already is not timed again, so that a call goes on where the last one ended; a
# program that failed is one line of the table, and is not tried again but with RETRY=1. Ours and PyTorch take turns, BATCH
# programs at a time, so that a run that is cut short has whole lines. What torch.compile makes of them is compiled by all
# cores before any is timed; the seconds of its compiler in the rows are of a full cache. Seed 0, one launch over 256
# elements, is always there.
#
# Parts, in PARTS (default: all):
#   torch   eager, torch.compile and max-autotune (scripts/torch_peer.py); skipped without PyTorch
#   ours    warpsmith bench
#   why     what the hardware counts of programs that are slower than PyTorch, or large and below 90 % of the roof; not on
#           the CPU
#
# Written: OUTDIR/programs/*.py; OUTDIR/results/*.csv and OUTDIR/why/*.csv, all rows; OUTDIR/generated.csv, a line a program
# (scripts/generated_table.py, which prints the worst of them with the reason, and the sums); OUTDIR/misses.csv, what was
# counted of each long kernel of those that lost, and what held it. On the CPU, which others may use, the least time of each
# counts.
#
# Environment: OUTDIR (generated-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), PYTHON (python3)
#   SEEDS   (1-200) as in 1-9,20
#   SIZES   (real), up to 4 GB moved, or small, up to 100 MB
#   SHARD   (1/1) k/n: every n-th of the seeds, from the k-th on
#   WAYS    (eager,compile,max-autotune; on the CPU eager,compile) of PyTorch
#   JOBS    (as many as there are cores) processes that compile PyTorch's part
#   BATCH   (two for each of them, at least 8) programs
#   TOTAL   (540) seconds after which no further program is started
#   LIMIT   (120) seconds for one program of ours
#   LINES   (20) of the table that are printed
#   ARCH    (sm_90a) of the GPU, for which is asked what any program reads again
#   RETRY   (0) 1: what has failed is tried again
#   ARGS    (--budget 2 --samples-max 40) further arguments of bench
# Exit codes: 0 fine, 1 a program failed, is wrong, or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

out=${OUTDIR:-generated-results}
warpsmith=${WARPSMITH:-build/warpsmith}
device=${DEVICE:-cuda:0}
python=${PYTHON:-python3}
parts=${PARTS:-torch ours why}
shard=${SHARD:-1/1}
jobs=${JOBS:-$(nproc)}
total=${TOTAL:-540}
limit=${LIMIT:-120}
more=${ARGS---budget 2 --samples-max 40} # split into words on purpose
ways=${WAYS:-eager,compile,max-autotune} table=(--lines "${LINES:-20}")
# As in bench_suite.sh: PyTorch takes the vector instructions that the processor names, and what is timed on a CPU has its
# threads bound to cores as ours are; what only compiles has not.
untried=(env TORCHINDUCTOR_VEC_ISA_OK=1) placed=()
if [ "$device" = cpu ]; then
    ways=${WAYS:-eager,compile}
    table+=(--least)
    placed=("${untried[@]}" OMP_PROC_BIND=true OMP_PLACES=cores GLIBC_TUNABLES=glibc.malloc.hugetlb=1)
fi

. scripts/script_head.sh
wrong_call() {
    echo "bench_generated: $1" >&2
    exit 2
}
for part in $parts; do
    case $part in
    ours | torch | why) ;;
    *) wrong_call "PARTS has no '$part'; it takes: torch ours why" ;;
    esac
done
[[ $shard =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]] && [ "${BASH_REMATCH[1]}" -le "${BASH_REMATCH[2]}" ] ||
    wrong_call "SHARD is '$shard'; it is k/n, from 1/n to n/n"
[[ $jobs =~ ^[1-9][0-9]*$ ]] || wrong_call "JOBS is '$jobs'; it is a number of processes"
batch=${BATCH:-$((jobs > 4 ? 2 * jobs : 8))}
[[ $batch =~ ^[1-9][0-9]*$ ]] || wrong_call "BATCH is '$batch'; it is a number of programs"
need_warpsmith "$warpsmith"
mkdir -p "$out/results" "$out/logs" "$out/failed" || exit 3

python3 scripts/generate_programs.py --out "$out/programs" --seeds "0,${SEEDS:-1-200}" --sizes "${SIZES:-real}" \
    >"$out/all.txt" || exit $?
# "name path dtype mode steps...", of this shard
awk -v k="${shard%/*}" -v n="${shard#*/}" 'NR == 1 || (NR - 2) % n == k - 1' "$out/all.txt" >"$out/cases.txt"
[ "${RETRY:-0}" = 0 ] || rm -f "$out"/failed/*
[[ " $parts " != *" torch "* ]] || "$python" -c 'import torch' 2>/dev/null || {
    echo "torch: skipped, $python has no torch"
    parts=${parts/torch/}
}

finish_by=$((SECONDS + total))
is_over() { [ $SECONDS -ge $finish_by ]; }

# missing WHAT: of the cases on stdin those of which there are no rows of WHAT, ours or a mode of PyTorch, and no failure.
missing() { "$python" scripts/generated_table.py --missing "$1" --ways "$ways" - "$out"; }

# compile_torch CASES: fills the cache from which run_torch has its code. What is not compiled when time is over, or fails,
# is compiled when it is timed.
compile_torch() {
    local left=$((finish_by - SECONDS))
    for mode in fwd train; do missing "$mode" <"$1"; done |
        awk '{ print $2, $3, "f32", "--mode=" $4 }' >"$out/torch_cases.txt"
    [ "$left" -gt 0 ] && [ -s "$out/torch_cases.txt" ] || return
    timeout "$left" "${untried[@]}" "$python" scripts/torch_peer.py --cases "$out/torch_cases.txt" --compile-only \
        --jobs "$jobs" --device "$device" --ways "$ways" >>"$out/logs/compile" 2>&1 </dev/null || true
}

# run_torch CASES: in one process a mode. A process that died leaves its program behind, and the others go on.
run_torch() {
    local mode code name left
    for mode in fwd train; do
        while [ $((left = finish_by - SECONDS)) -gt 0 ]; do
            missing "$mode" <"$1" >"$out/torch.txt"
            [ -s "$out/torch.txt" ] || break
            awk '{ print $2, $3, "f32" }' "$out/torch.txt" >"$out/torch_cases.txt"
            code=0
            timeout "$left" ${placed[@]+"${placed[@]}"} "$python" scripts/torch_peer.py --cases "$out/torch_cases.txt" \
                --mode "$mode" --device "$device" --ways "$ways" --results "$out/results" >>"$out/logs/torch" 2>&1 </dev/null ||
                code=$?
            [ $code != 124 ] || break
            missing "$mode" <"$1" >"$out/torch.txt"
            [ -s "$out/torch.txt" ] || break
            # It goes along its cases in order: one that failed is said and passed over, at one that ended it it ended.
            if [ $code -le 1 ]; then
                while read -r name _; do echo "no rows" >"$out/failed/$name.torch"; done <"$out/torch.txt"
            else
                read -r name _ <"$out/torch.txt"
                echo "exit code $code" >"$out/failed/$name.torch"
            fi
        done
    done
}

# bench LOG CASE-FILE RESULTS [ARG...]: ours, of each line.
# shellcheck disable=SC2086 # more: words
run_ours() {
    local name path dtype mode code
    while read -r name path dtype mode _; do
        ! is_over || break
        code=0
        timeout "$limit" "$warpsmith" bench "$path" --device "$device" --dtype "$dtype" --mode "$mode" \
            --results "$out/$3" --no-figures $more ${4:-} >"$out/logs/$1$name" 2>&1 </dev/null || code=$?
        [ $code = 0 ] || [ "$3" = why ] ||
            { grep -m1 -E 'warpsmith|wrong' "$out/logs/$1$name" || echo "exit code $code"; } >"$out/failed/$name.ours"
    done <"$2"
}

export WARPSMITH_CACHE=$out/store.db
# As a whole path: the compilers run in folders of their own.
TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR:-$(realpath "$out")/inductor}
export TORCHINDUCTOR_CACHE_DIR
split -l "$batch" -a 4 "$out/cases.txt" "$out/batch." || exit 3
for cases in "$out"/batch.????; do
    ! is_over || break
    if [[ " $parts " == *" torch "* ]]; then
        compile_torch "$cases"
        run_torch "$cases"
    fi
    if [[ " $parts " == *" ours "* ]]; then
        missing ours <"$cases" >"$out/ours.txt"
        run_ours "" "$out/ours.txt" results
    fi
done
if [ "$device" != cpu ] && [[ " $parts " == *" why "* ]]; then
    "$python" scripts/generated_table.py --losses "$out/cases.txt" "$out" >"$out/ours.txt"
    run_ours why_ "$out/ours.txt" why --profile
fi
rm -rf "$out/inductor"
rm -f "$out"/batch.???? "$out/ours.txt" "$out/torch.txt" "$out/torch_cases.txt"
[ "$device" = cpu ] || table+=(--arch "${ARCH:-sm_90a}")
WARPSMITH=$warpsmith "$python" scripts/generated_table.py "${table[@]}" "$out/cases.txt" "$out"
