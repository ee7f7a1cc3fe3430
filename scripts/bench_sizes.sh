#!/usr/bin/env bash
# bench_sizes.sh: what share of the copy bandwidth the plainest kernels reach, by how much they move.
#
#   OUTDIR=out scripts/bench_sizes.sh
#
# A kernel that moves 64 MB is over before the memory has been at its speed for long: filling and draining the device
# cost it a microsecond or two, whatever it computes. So what relu (reads and writes) and full_sum (reads) reach at a
# size is what any program of that size can be held to. Written: OUTDIR/sizes.csv, a line a workload and size (workload,
# dtype, device, date, git_rev, mbytes, floor_us, tuned_us, roof_pct), which is also printed; OUTDIR/results, all rows.
#
# Environment: OUTDIR (sizes-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), DTYPE (f32),
#   SIZES (1 4 16 32 64 128 256 1024) megabytes that are moved, PYTHON (python3), ARGS () further arguments of bench
# Exit codes: 0 fine, 1 a command failed, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

out=${OUTDIR:-sizes-results}
warpsmith=${WARPSMITH:-build/warpsmith}
dtype=${DTYPE:-f32}
more=${ARGS:-} # split into words on purpose

. scripts/script_head.sh
need_warpsmith "$warpsmith"
case $dtype in
f64) bytes=8 ;;
f32) bytes=4 ;;
f16 | bf16) bytes=2 ;;
*)
    echo "bench_sizes: DTYPE is f64, f32, f16 or bf16, not '$dtype'" >&2
    exit 2
    ;;
esac
sizes=${SIZES:-1 4 16 32 64 128 256 1024}
[[ $sizes =~ ^[1-9][0-9]*(\ +[1-9][0-9]*)*$ ]] || {
    echo "bench_sizes: SIZES is whole megabytes, such as '4 64', not '$sizes'" >&2
    exit 2
}
rm -rf "$out/results"
mkdir -p "$out/results" || exit 3
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT

failed=0
for workload in relu full_sum; do
    [ $workload = relu ] && moved=$((2 * bytes)) || moved=$bytes
    axis=
    for size in $sizes; do axis=$axis,$((size * 1000000 / moved / 256 * 256)); done
    # shellcheck disable=SC2086
    WARPSMITH_CACHE=$store/store.db "$warpsmith" bench workloads/$workload.py --device "${DEVICE:-cuda:0}" --dtype "$dtype" \
        -D "n=${axis#,}" --results "$out/results" --no-figures $more >"$store/log" 2>&1 || {
        echo "failed: $workload: $(tail -1 "$store/log")" >&2
        failed=1
    }
done

"${PYTHON:-python3}" - "$out" <<'END' || failed=1
import csv, glob, os, sys

COLUMNS = ["workload", "dtype", "device", "date", "git_rev", "mbytes", "floor_us", "tuned_us", "roof_pct"]
lines = []
for path in sorted(glob.glob(os.path.join(sys.argv[1], "results", "*.csv"))):
    with open(path, newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["role"] == "tuned" and r["status"] == "ok" and r["roof_pct"]]
    for r in sorted(rows, key=lambda r: float(r["bytes"])):
        us, roof = float(r["median_us"]), float(r["roof_pct"])
        lines.append([r["workload"], r["dtype"], r["device"], r["timestamp"][:10], r["git_rev"],
                      f"{float(r['bytes']) / 1e6:.1f}", f"{us * roof / 100:.2f}", f"{us:.2f}", f"{roof:.1f}"])
with open(os.path.join(sys.argv[1], "sizes.csv"), "w", newline="") as file:
    csv.writer(file, lineterminator="\n").writerows([COLUMNS] + lines)
print(f"{'workload':10} {'dtype':5} {'MB':>8} {'floor us':>9} {'tuned us':>9} {'% roof':>7}")
for workload, dtype, _, _, _, mbytes, floor, tuned, roof in lines:
    print(f"{workload:10} {dtype:5} {mbytes:>8} {floor:>9} {tuned:>9} {roof:>7}")
END
exit $failed
