#!/usr/bin/env bash
# bench_convolutions.sh: convolutions: ours against PyTorch's eager and torch.compile (cuDNN, on a CPU oneDNN).
#
#   OUTDIR=out scripts/bench_convolutions.sh
#   OUTDIR=out DEVICE=cpu CASES=small scripts/bench_convolutions.sh
#   OUTDIR=out PARTS=ours CASES='resnet_.* bf16' scripts/bench_convolutions.sh
#
# Like with like: dtype f32 is PyTorch with TF32 forbidden, and ours as exact as that; tf32 is f32 with PyTorch's allow_tf32 on,
# and --precision tf32. Caches are flushed before every sample of all. A case that OUTDIR has is not timed again, so that a call
# goes on where the last one ended: PyTorch's cases in one process, ours in one each.
#
# With KERNELBENCH, the path of a checkout of KernelBench, it is scripts/bench_kernelbench.sh on the files of levels 1 and 2
# that have a convolution, whose variables it takes.
#
# Written: OUTDIR/results/*.csv, all rows; OUTDIR/runs.csv, what became of each case; OUTDIR/convolutions.csv, a line a case
# (scripts/case_table.py, which prints the geometric means and the worst cases, too).
#
# Environment: OUTDIR (convolutions-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), PYTHON (python3)
#   PARTS  (torch ours)
#   CASES  (all) the 60 shapes in bf16, f32 and tf32; small: what a CPU does in some milliseconds, in f32; else a pattern:
#          of all, those whose line `name dtype axis=value ...` matches
#   SHARD  (0/1) I/N: every Nth shape from the Ith on
#   WAYS   (eager,compile) of PyTorch
#   TOTAL  (540) seconds after which nothing runs; LIMIT (300) seconds for one case in one way
#   RETRY  1: what failed is run again
#   ARGS   further arguments of bench
# Exit codes: 0 fine, 1 a command failed or was left out for lack of time, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

caller=bench_convolutions table=convolutions ways=eager,compile
. scripts/script_head.sh
if [ -n "${KERNELBENCH:-}" ]; then
    export LEVELS=${LEVELS:-1,2} CONTAINS='nn\.Conv'
    exec scripts/bench_kernelbench.sh "$KERNELBENCH"
fi
. scripts/bench_cases.sh
cases=${CASES:-all}
need_warpsmith "$warpsmith"

# "name batch channels filters size kernel stride padding [axis=value ...]"; the size is a width, a width and height alike,
# or depth x width
shapes() {
    cat <<'END'
resnet_first 64 3 64 224 7 2 3
resnet_first_b1 1 3 64 224 7 2 3
resnet_56_3x3 64 64 64 56 3 1 1
resnet_56_3x3_b1 1 64 64 56 3 1 1
resnet_56_1x1_up 16 64 256 56 1 1 0
resnet_56_1x1_down 64 256 64 56 1 1 0
resnet_56_3x3_s2 16 128 128 56 3 2 1
resnet_56_1x1_s2 16 256 512 56 1 2 0
resnet_28_3x3 64 128 128 28 3 1 1
resnet_28_1x1 16 512 128 28 1 1 0
resnet_14_3x3 64 256 256 14 3 1 1
resnet_14_3x3_b1 1 256 256 14 3 1 1
resnet_14_1x1 64 1024 256 14 1 1 0
resnet_7_3x3 64 512 512 7 3 1 1
resnet_7_3x3_b1 1 512 512 7 3 1 1
resnet_7_1x1 16 2048 512 7 1 1 0
unet_256 16 64 64 256 3 1 1
unet_256_b1 1 64 64 256 3 1 1
unet_128 16 128 128 128 3 1 1
unet_32 16 512 512 32 3 1 1
unet_16_b1 1 1024 1024 16 3 1 1
unet_up_16 16 1024 512 16 2 2 0 transposed=1
unet_up_128 1 128 64 128 2 2 0 transposed=1
unet_last 16 64 2 256 1 1 0
depthwise_112 64 32 32 112 3 1 1 groups=32
depthwise_112_s2 16 96 96 112 3 2 1 groups=96
depthwise_56_5x5_s2 16 144 144 56 5 2 2 groups=144
depthwise_28_5x5 64 240 240 28 5 1 2 groups=240
depthwise_14 64 480 480 14 3 1 1 groups=480
depthwise_14_5x5_b1 1 672 672 14 5 1 2 groups=672
depthwise_7_5x5 64 1152 1152 7 5 1 2 groups=1152
pointwise_14 16 672 112 14 1 1 0
video_first 16 3 64 16x112 3 1 1 dims=3
video_56 16 64 128 16x56 3 1 1 dims=3
video_28_s2 16 128 256 8x28 3 2 1 dims=3
video_14_b1 1 256 512 4x14 3 1 1 dims=3
audio_first 16 1 512 16000 10 5 0 dims=1
audio_512_s2 16 512 512 3200 3 2 0 dims=1
audio_mel 64 80 512 3000 3 1 1 dims=1
audio_dilated 16 64 128 16000 2 1 64 dims=1 dilation=64
audio_vocoder_b1 1 512 512 8000 7 1 3 dims=1
transposed_dcgan_8 64 512 256 8 4 2 1 transposed=1
transposed_dcgan_32 64 128 64 32 4 2 1 transposed=1
transposed_dcgan_last 64 64 3 64 4 2 1 transposed=1
transposed_28 16 256 128 28 3 2 1 transposed=1 output_padding=1
transposed_28_s1 16 128 128 28 3 1 1 transposed=1
transposed_3d 16 32 64 16x32 3 2 1 transposed=1 dims=3
transposed_1d 16 512 256 400 16 8 4 transposed=1 dims=1
transposed_dilated 16 64 32 64 3 2 2 transposed=1 dilation=2
dilated_2 64 64 64 56 3 1 2 dilation=2
dilated_6 16 512 256 33 3 1 6 dilation=6
dilated_12_b1 1 2048 256 33 3 1 12 dilation=12
grouped_resnext_56 64 128 128 56 3 1 1 groups=32
grouped_resnext_14 16 1024 1024 14 3 1 1 groups=32
grouped_shuffle 64 240 240 28 1 1 0 groups=3
grouped_4_b1 1 256 256 28 3 1 1 groups=4
first_vit 64 3 768 224 16 16 0
first_convnext 16 3 96 224 4 4 0
first_mobile 64 3 32 224 3 2 1
first_mobile_b1 1 3 32 224 3 2 1
END
}

small_shapes() {
    cat <<'END'
resnet_first 4 3 64 224 7 2 3
resnet_56_3x3 4 64 64 56 3 1 1
resnet_56_1x1_up 4 64 256 56 1 1 0
resnet_56_1x1_down 4 256 64 56 1 1 0
resnet_56_3x3_s2 4 128 128 56 3 2 1
resnet_56_1x1_s2 4 256 512 56 1 2 0
resnet_28_3x3 4 128 128 28 3 1 1
resnet_14_3x3 4 256 256 14 3 1 1
resnet_14_1x1 4 1024 256 14 1 1 0
resnet_7_3x3 4 512 512 7 3 1 1
resnet_7_1x1 4 2048 512 7 1 1 0
depthwise_56 4 144 144 56 3 1 1 groups=144
depthwise_56_5x5_s2 4 144 144 56 5 2 2 groups=144
grouped_resnext_28 4 256 256 28 3 1 1 groups=32
dilated_2 4 64 64 56 3 1 2 dilation=2
transposed_28 4 128 64 28 3 2 1 transposed=1 output_padding=1
transposed_dcgan_16 4 128 64 16 4 2 1 transposed=1
unet_up_32 4 128 64 32 2 2 0 transposed=1
audio_s2 4 128 128 3200 3 2 0 dims=1
audio_dilated 4 64 128 4000 2 1 64 dims=1 dilation=64
video_28 4 32 64 8x28 3 1 1 dims=3
first_mobile 4 3 32 224 3 2 1
END
}

# as_cases DTYPE...: of the shapes on stdin "name workload dtype precision axis=value ..."
as_cases() {
    local shapes dtype name batch channels filters size kernel stride padding rest
    shapes=$(cat)
    for dtype in "$@"; do
        while read -r name batch channels filters size kernel stride padding rest; do
            case $dtype in
            tf32) echo -n "$name convolution f32 tf32" ;;
            *) echo -n "$name convolution $dtype f32" ;;
            esac
            echo " batch=$batch channels=$channels filters=$filters depth=${size%x*} height=${size#*x} width=${size#*x}" \
                "kernel=$kernel stride=$stride padding=$padding $rest"
        done <<<"$shapes"
    done
}

all_cases() { shapes | as_cases bf16 f32 tf32; }
case $cases in
all) all_cases ;;
small) small_shapes | as_cases f32 ;;
*) # as `name dtype axis=value ...`
    all_cases | awk -v pattern="$cases" '{
        shown = $1 " " ($4 == "tf32" ? "tf32" : $3)
        for (i = 5; i <= NF; i++) shown = shown " " $i
        if (shown " " ~ pattern) print }' ;;
esac | chosen
run_cases
exit $status
