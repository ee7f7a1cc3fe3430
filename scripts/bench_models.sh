#!/usr/bin/env bash
# bench_models.sh: the models of workloads/models: ours against PyTorch's eager, torch.compile and max-autotune, each in a
# process of its own.
#
#   OUTDIR=out scripts/bench_models.sh
#   OUTDIR=out ONLY='^gpt2.* bf16 ' scripts/bench_models.sh
#   OUTDIR=out DEVICE=cpu CASES=small scripts/bench_models.sh
#
# GPT-2 (a prompt, a token with a cache, a training step), ViT, ResNet-50 (inference, a training step), a block of it in
# training (channels first, and last), a U-Net block, LSTM, Mamba block, experts, DLRM; a training step is outputs and all
# gradients. In bf16, and in f32 with TF32 allowed on both sides (tf32) and forbidden (f32). Times are of the device; memory
# is what lies between kernels, beside inputs, parameters and outputs: PyTorch's as its allocator counts it, ours that of
# the memory plan. ours_s is all of bench, its check and unfused program included, tuning_s the tuning, compile_s and
# autotune_s PyTorch's first call.
#
# Written: OUTDIR/results/*.csv, all rows; OUTDIR/runs.csv, what became of each; OUTDIR/models.csv,
# a line a case (scripts/case_table.py); OUTDIR/kernels.csv, the kernels of both. A call goes on where the last one ended.
#
# Environment: OUTDIR (models-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), PYTHON (python3)
#   PARTS  (ours torch) and check
#   CASES  (all) or small: sizes for a CPU, in f32
#   ONLY   a pattern: of the cases, those whose line `name workload dtype precision ...` matches
#   SHARD  (0/1) I/N: every Nth model from the Ith on
#   WAYS   (eager,compile,max-autotune) of PyTorch
#   TOTAL  (540) seconds after which nothing runs; LIMIT (300) seconds for one model in one way
#   RETRY  1: what failed is run again
#   ARGS   (--budget 16t) of bench: how many configs of each kernel are timed
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

caller=bench_models table=models ways=eager,compile,max-autotune parts='ours torch' args='--budget 16t'
. scripts/script_head.sh
. scripts/bench_cases.sh
need_warpsmith "$warpsmith"

# "name workload [--mode=train] [--eval] [axis=value ...] : axis=value ...": behind the colon the sizes of CASES=small
models() {
    cat <<'END'
gpt2_prompt models/gpt2 : batch=2 length=12 layers=1 heads=2 width=16 vocabulary=50 context=16
gpt2_decode models/gpt2_decode : batch=2 context=16 layers=1 heads=2 width=16 vocabulary=50
gpt2_train models/gpt2_train --mode=train : batch=2 length=12 layers=1 heads=2 width=16 vocabulary=50
vit models/vit --eval : batch=2 image=16 patch=4 layers=1 heads=2 width=16 classes=10
resnet50 models/resnet50 --eval : batch=2 image=32 width=4 classes=10
resnet50_train models/resnet50 --mode=train : batch=2 image=32 width=4 classes=10
resnet_block resnet_block --mode=train : batch=2 channels=8 height=6 width=6
resnet_block_last resnet_block --mode=train last=1 : batch=2 channels=8 height=6 width=6
unet_block models/unet_block : batch=2 channels=8 size=8 groups=4
lstm models/lstm : layers=2 steps=6 batch=2 inputs=8 hidden=8
mamba_block models/mamba_block : batch=2 length=12 width=16 states=4
moe models/moe : batch=2 length=12 width=16 inner=24 experts=4 room=8
dlrm models/dlrm : batch=8 tables=3 rows=50 width=8 bag=2
END
}

# sized DTYPE PRECISION [small]
sized() {
    local name workload rest axes
    while read -r name workload rest; do
        axes=${rest#*:}
        [ -n "${3:-}" ] || axes=''
        # shellcheck disable=SC2086 # words
        echo "$name $workload $1 $2" ${rest%%:*} $axes
    done
}

case ${CASES:-all} in
all)
    models | sized bf16 f32
    models | sized f32 tf32
    models | sized f32 f32
    ;;
small) models | sized f32 f32 small ;;
*)
    echo "$caller: CASES is '$CASES'; it is all or small" >&2
    exit 2
    ;;
esac | chosen
run_cases --apart --each
if [ -s "$out/$table.csv" ]; then
    "$python" scripts/case_table.py "$out" --kernels >"$out/kernels.csv" || status=1
fi
exit $status
