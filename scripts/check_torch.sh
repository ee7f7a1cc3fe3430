#!/usr/bin/env bash
# check_torch.sh: every workload's outputs and gradients against real PyTorch, at small sizes; needs no network.
#
#   OUT=out scripts/check_torch.sh
#   OUT=out DTYPES=f32,bf16 ONLY='norm|softmax' DEVICE=cpu scripts/check_torch.sh
#
# Both compute from the same inputs, parameters and gradients of the outputs: see scripts/torch_peer.py --help. Axes are
# halved, the largest first, until no input or parameter has more than ELEMENTS elements. The table comes last.
#
# Environment:
#   OUT        (check-torch) torch_check.csv, log.txt, and the store, which starts empty
#   WARPSMITH  (build/warpsmith)   PYTHON (python3)
#   DEVICE     (cuda:0 where nvidia-smi sees a GPU, else cpu)
#   DTYPES     (f32)   MODES (fwd,train)   ELEMENTS (1048576)
#   ONLY       a pattern: of the workloads, those whose name matches
# Exit codes: 0 fine, 1 an output is wrong or could not be computed, 2 wrong call, 3 no PyTorch or no such device.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
export LC_ALL=C

. scripts/script_head.sh

out=$(cd "$here" && realpath -m "${OUT:-check-torch}") # of where it is called
device=${DEVICE:-}
export WARPSMITH=${WARPSMITH:-build/warpsmith}
need_warpsmith "$WARPSMITH"
if [ -z "$device" ]; then
    device=cpu
    if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then device=cuda:0; fi
fi
files=()
for file in workloads/*.py; do
    if [[ $(basename "$file" .py) =~ ${ONLY:-} ]]; then files+=("$file"); fi
done
if [ ${#files[@]} = 0 ]; then
    echo "check_torch: ONLY='$ONLY' matches no workload" >&2
    exit 2
fi

mkdir -p "$out"
rm -f "$out"/store.db*
export WARPSMITH_CACHE=$out/store.db
"${PYTHON:-python3}" scripts/torch_peer.py --check "${files[@]}" --mode "${MODES:-fwd,train}" --dtype "${DTYPES:-f32}" \
    --device "$device" --max-elements "${ELEMENTS:-1048576}" --csv "$out/torch_check.csv" 2>&1 | tee "$out/log.txt"
