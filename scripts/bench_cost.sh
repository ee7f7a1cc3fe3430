#!/usr/bin/env bash
# bench_cost.sh: what warpsmith itself costs on this machine: seconds, and memory. The GPU is not used.
#
#   scripts/bench_cost.sh                       writes reports/samples/cost_<host architecture>.csv
#   OUT=cost.csv REPEAT=3 scripts/bench_cost.sh
#
# One row a measure: measure,value,unit,limit,command,device,date. A limit is what the project holds itself to:
# "<=N" or ">=N", empty where there is none. The numbers are worth something on an idle machine only, so every measure
# waits until nothing else runs, and the last row says how much of the machine others have used meanwhile.
#
# Environment: OUT, REPEAT (5: commands that are run several times give their median), ARCHES, WAIT (60: seconds to
# wait at most; past them the script says so and goes on).
# Exit codes: 0 fine, 1 a limit is exceeded, 2 wrong call, 3 something cannot run here.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

. scripts/script_head.sh

out=${OUT:-reports/samples/cost_$(uname -m).csv}
repeat=${REPEAT:-5}
wait=${WAIT:-60}
read -ra arches <<<"${ARCHES:-sm_80 sm_89 sm_90a sm_100 sm_120}"
make build/warpsmith >&2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export WARPSMITH_CACHE=$tmp/store.db
script=bench_cost
. scripts/measures.sh
host=$(processor)

# cost COMMAND...: its output to $tmp/log; "seconds MiB" of it and of the largest process below it to stdout.
cost() {
    python3 -c 'import resource, subprocess, sys, time
begin = time.monotonic()
with open(sys.argv[1], "w") as log:
    code = subprocess.call(sys.argv[2:], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
seconds = time.monotonic() - begin
print(f"{seconds:.3f} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f}")
sys.exit(code)' "$tmp/log" "$@" || {
        local code=$?
        echo "bench_cost: exit $code of: $*" >&2
        tail -n 5 "$tmp/log" >&2
        return 3
    }
}

# ---- compile: source to binary -------------------------------------------------------------------------------------

# variant_ms FILE ARCH: median time to compile the kernel that rules choose; empty where its compiler is missing.
variant_ms() {
    local i
    for ((i = 0; i < repeat; i++)); do
        build/warpsmith compile "$1" --arch "$2" 2>"$tmp/log" | sed -n 's/.* \([0-9.]*\) ms  .*/\1/p'
    done | median
}

fresh() { rm -rf "$tmp/results" "$tmp/store.db"*; }

for arch in "${arches[@]}" cpu; do
    quiet
    ms=$(variant_ms workloads/softmax.py "$arch")
    if [ -z "$ms" ]; then
        echo "bench_cost: cannot compile for $arch: $(head -n 1 "$tmp/log")" >&2
        continue
    fi
    limit='<=100'
    [ "$arch" != cpu ] || limit='<=400'
    row "one softmax variant for $arch: source to binary" "$ms" ms "$limit" "warpsmith compile workloads/softmax.py --arch $arch"
done

quiet
read -r seconds mib < <(cost build/warpsmith explain workloads/softmax.py --arch sm_90a)
row 'explain softmax: file to kernels' "$seconds" s '<=0.1' 'warpsmith explain workloads/softmax.py --arch sm_90a'
row 'explain softmax: memory' "$mib" MiB '<=64' 'warpsmith explain workloads/softmax.py --arch sm_90a'

# ---- bench: tuned, then known --------------------------------------------------------------------------------------

# said NAME: the seconds after NAME in the last line of costs that bench prints.
said() { sed -n "s/^compiled .*$1 \([0-9.]*\) s.*/\1/p" "$tmp/log" | tail -n 1; }

command='make bench WORKLOAD=softmax DEVICE=cpu'
quiet
read -r seconds mib < <(cost make bench WORKLOAD=softmax DEVICE=cpu ARGS="--results $tmp/results")
row 'bench softmax with nothing known' "$seconds" s '<=60' "$command"
row 'of it timing' "$(said timing)" s '' "$command"
row 'of it checking' "$(said checking)" s '' "$command"
row 'bench softmax: memory' "$mib" MiB '<=1024' "$command"

# The second time, the winners come from the store and only the programs are timed.
hits=() rests=()
for ((i = 0; i < repeat; i++)); do
    quiet
    read -r seconds _ < <(cost make bench WORKLOAD=softmax DEVICE=cpu ARGS="--results $tmp/results")
    grep -q '^cache hit' "$tmp/log" || {
        echo 'bench_cost: the second run was no cache hit' >&2
        exit 3
    }
    hits+=("$seconds")
    rests+=("$(awk -v a="$seconds" -v b="$(said timing)" 'BEGIN { printf "%.2f", a - b }')")
done
row 'bench softmax on a cache hit' "$(printf '%s\n' "${hits[@]}" | median)" s '<=3' "$command"
row 'of it anything but timing' "$(printf '%s\n' "${rests[@]}" | median)" s '<=2' "$command"
fresh

# ---- run: a pointwise chain against a copy of as many bytes ---------------------------------------------------------

# The roof of each run is a copy with streaming stores, measured in that run: the store is fresh.
command='make bench WORKLOAD=relu_chain DEVICE=cpu'
for ((i = 0; i < repeat; i++)); do
    fresh
    quiet
    cost make bench WORKLOAD=relu_chain DEVICE=cpu ARGS="--results $tmp/results --no-figures" >/dev/null
    scripts/program_table.py --field roof_pct "$tmp/results/relu_chain.csv" | xargs printf '%.1f\n'
done >"$tmp/roofs"
row 'relu_chain 4096 x 4096 f32: of copy bandwidth' "$(median <"$tmp/roofs")" % '>=80' "$command"

others_row
write_table "$out"
exit $over
