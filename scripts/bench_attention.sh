#!/usr/bin/env bash
# bench_attention.sh: attention as people change it: ours against PyTorch's eager, torch.compile, each backend of
# scaled_dot_product_attention by its name (flash, cudnn, efficient, math), and flex_attention compiled.
#
#   OUTDIR=out scripts/bench_attention.sh
#   OUTDIR=out ONLY='^(matrix_rate|causal_128) ' ARGS='' scripts/bench_attention.sh
#   OUTDIR=out DEVICE=cpu CASES=small scripts/bench_attention.sh
#
# The cases are workloads/attention/attention_variant.py: plain, causal, head sizes 64 to 256, lengths 512 to 32k, windows,
# ALiBi, soft caps, all three, grouped heads, masks, documents, cross attention, decode; and of the main ones a training step
# (outputs, dq, dk and dv). A backend that cannot run a case says so in its row, which has its reason. What flex_attention
# skips is found before it is timed; a mask or bias that PyTorch needs as a tensor is made in every call, in ours, too.
#
# TFLOP/s count products of the query and key pairs that see each other, of a training step 3.5 times those of a forward;
# `% of rate` is of the fastest product of 8192 x 8192 x 8192 that was measured with them (matrix_rate, ours or PyTorch's).
#
# Written: OUTDIR/results/*.csv, results/peers/*.csv, all rows; OUTDIR/runs.csv, what became of each; OUTDIR/attention.csv, a
# line a case (scripts/attention_table.py). A call goes on where the last one ended.
#
# Environment: OUTDIR (attention-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), PYTHON (python3)
#   PARTS  (torch ours) and check
#   CASES  (all) or small: each variant at sizes that a CPU does in milliseconds, in f32
#   ONLY   a pattern: of the cases, those whose line `name workload dtype precision [--mode=train] axis=value ...` matches
#   SHARD  (0/1) I/N: every Nth case from the Ith on; the matrix rates are in each
#   WAYS   (eager,compile,flash,cudnn,efficient,math,flex) of PyTorch
#   TOTAL  (540) seconds after which nothing runs; LIMIT (120) seconds for one case in one way
#   AHEAD  (half the cores; on the CPU 0) processes that compile what torch.compile makes before anything is timed
#   RETRY  1: what failed is run again
#   ARGS   (--no-search) of bench
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

caller=bench_attention table=attention table_script=attention_table.py limit=120 args=--no-search always=matrix_rate
ways=eager,compile,flash,cudnn,efficient,math,flex
. scripts/script_head.sh
. scripts/bench_cases.sh
need_warpsmith "$warpsmith"
[ "$device" = cpu ] || ahead=$((($(nproc) + 1) / 2))

# "name batch heads kv_heads queries keys size [axis=value ...]", those of which a training step is timed, too, with a +
variants() {
    cat <<'END'
+plain_128 4 32 32 4096 4096 128
+causal_128 4 32 32 4096 4096 128 causal=1
+plain_64 4 32 32 4096 4096 64
+causal_64 4 32 32 4096 4096 64 causal=1
plain_96 4 32 32 4096 4096 96
plain_256 4 16 16 4096 4096 256
plain_80 4 16 16 4096 4096 80
causal_512 32 32 32 512 512 128 causal=1
causal_1k 16 32 32 1024 1024 128 causal=1
causal_2k 8 32 32 2048 2048 128 causal=1
causal_8k 2 32 32 8192 8192 128 causal=1
causal_16k 1 32 32 16384 16384 128 causal=1
causal_32k 1 16 16 32768 32768 128 causal=1
+window 2 32 32 8192 8192 128 causal=1 window=1024
+alibi 4 32 32 4096 4096 128 causal=1 alibi=1
+cap 4 32 32 4096 4096 128 causal=1 cap=50
+cap_alibi_window 4 32 32 4096 4096 128 causal=1 cap=50 alibi=1 window=1024
+gqa 4 32 8 4096 4096 128 causal=1
mqa 4 32 1 4096 4096 128 causal=1
masked 4 32 32 4096 4096 128 masked=4
+documents 2 32 32 8192 8192 128 causal=1 documents=1024
cross 4 32 32 1024 4096 128
prefix 4 32 32 512 4096 128 causal=1
decode 16 32 32 1 8192 128
decode_gqa 16 32 8 1 8192 128
decode_long 1 32 8 1 32768 128
END
}

# The same, small: lengths, windows and documents by 128, heads by 8, a batch of one.
small() {
    awk '{ $2 = 1; $3 /= 8; $4 = $4 > 8 ? $4 / 8 : 1; $5 = $5 > 1 ? int(($5 + 127) / 128) : 1; $6 /= 128; $7 /= 4
        for (i = 8; i <= NF; i++) if (split($i, axis, "=") && axis[2] >= 128) $i = axis[1] "=" axis[2] / 128
        print }'
}

# sized DTYPE PRECISION [SUFFIX]: of the variants on stdin their cases.
sized() {
    local name batch heads kv queries keys size rest train ways
    while read -r name batch heads kv queries keys size rest; do
        train=${name%%[a-z]*} name=${name#+} ways=''
        # A soft cap is no argument of scaled_dot_product_attention.
        [ -n "${WAYS:-}" ] || [[ $rest != *cap=* ]] || ways=' --ways=eager,compile,flex'
        rest="batch=$batch heads=$heads kv_heads=$kv queries=$queries keys=$keys size=$size${rest:+ $rest}"
        echo "$name${3-} attention/attention_variant $1 $2$ways $rest"
        [ -z "$train" ] || echo "${name}_train${3-} attention/attention_variant $1 $2 --mode=train$ways $rest"
    done
}

rate() { echo "matrix_rate matmul $1 $2 --ways=eager rows=$3 inner=$3 columns=$3"; }

all_cases() {
    local precision
    rate bf16 f32 8192
    variants | sized bf16 f32
    rate f16 f32 8192
    variants | grep -E '^.?(plain|causal)_128 ' | tr -d + | sized f16 f32 _f16
    for precision in f32 tf32; do
        rate f32 $precision 8192
        variants | grep -E '^.?(plain|causal)_64 ' | sed 's/^+//; s/ 4 32 32 4096 4096 / 1 16 16 4096 4096 /' |
            sized f32 $precision _$precision
    done
}

case ${CASES:-all} in
all) all_cases ;;
small) rate f32 f32 512 && variants | small | sized f32 f32 ;;
*)
    echo "$caller: CASES is '$CASES'; it is all or small" >&2
    exit 2
    ;;
esac | chosen
run_cases
exit $status
