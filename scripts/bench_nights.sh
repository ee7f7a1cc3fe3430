#!/usr/bin/env bash
# bench_nights.sh: are real nights told apart? Some alike on one device, and a last one whose programs are slower in part.
#
#   OUTDIR=out scripts/bench_nights.sh
#   OUTDIR=out DEVICE=cpu DTYPE=f32 SLOWED=softmax WORKLOADS='softmax gelu_bias' scripts/bench_nights.sh
#
# Each night is a call of scripts/nightly.sh with its defaults: what it calls slower or too noisy is run again. Before the
# last one a worse config becomes the stored winner of each workload of SLOWED: of those that the first night's search
# timed, the one next to LOSS times the winner's time. The others run as ever.
#
# Written: OUTDIR/nights.csv, of every tuned program and night what `warpsmith nightly judge` says in timeline.csv, with
# planted, the time of the config that is forced over the winner's, when the first night tried them; OUTDIR/night_N.md.
#
# Environment: OUTDIR (nights-results), WARPSMITH (build/warpsmith), DEVICE (cuda:0), DTYPE (bf16)
#   NIGHTS     (7) the last one included; a night that is slower is told by four before, at least
#   WORKLOADS  (twelve of workloads/) and of these SLOWED (softmax rope matmul), which have one kernel each
#   LOSS       (1.04)
# Exit codes: 0 told apart: the nights before have nothing SLOWER, the last one what was slowed and nothing else; 1 not, or
# a command failed, 2 wrong call, 3 nothing can run here.
set -u
cd "$(dirname "$0")/.." || exit 3
export LC_ALL=C

out=${OUTDIR:-nights-results}
warpsmith=${WARPSMITH:-build/warpsmith}
device=${DEVICE:-cuda:0}
dtype=${DTYPE:-bf16}
nights=${NIGHTS:-7}
loss=${LOSS:-1.04}
workloads=${WORKLOADS:-softmax layernorm gelu_bias rmsnorm_residual rope cumsum swiglu cross_entropy embedding transpose_add column_sum matmul}
slowed=${SLOWED:-softmax rope matmul}

. scripts/script_head.sh
need_warpsmith "$warpsmith"
if ! [[ $nights =~ ^[0-9]+$ ]] || [ "$nights" -lt 2 ]; then
    echo "bench_nights: NIGHTS is '$nights'; there must be one to be compared with" >&2
    exit 2
fi
mkdir -p "$out/forced" || exit 3
out=$(realpath "$out")
export WARPSMITH=$warpsmith WARPSMITH_CACHE=$out/store.db
failed=0

# put_worse WORKLOAD: of the configs that the search has timed, store as the fastest the one next to LOSS times the winner's
# time; print the times.
put_worse() {
    python3 - "$WARPSMITH_CACHE" "$1" "$loss" <<'END'
import sqlite3
import sys

store, workload, loss = sys.argv[1:]
db = sqlite3.connect(store)
keys = db.execute("""SELECT k.id, w.winner_median_us FROM graphs g, keys k, winners w
                     WHERE g.workload = ? AND k.graph = g.graph AND w.key = k.id""", (workload,)).fetchall()
if len(keys) != 1:
    sys.exit("%d tuned kernels" % len(keys))
key, best = keys[0]
row = db.execute("""SELECT config, text_hash, trial_n, trial_median_us, trial_q1_us, trial_q3_us, trial_min_us, trial_lo_us,
                    trial_hi_us FROM trials WHERE key = ? AND status = 'ok' AND trial_median_us >= ?
                    ORDER BY trial_median_us LIMIT 1""", (key, float(loss) * best)).fetchone()
if not row:
    sys.exit("no config took %s times as long" % loss)
db.execute("""UPDATE winners SET config = ?, text_hash = ?, winner_n = ?, winner_median_us = ?, winner_q1_us = ?,
              winner_q3_us = ?, winner_min_us = ?, winner_lo_us = ?, winner_hi_us = ? WHERE key = ?""", row + (key,))
db.commit()
print("%.4f" % (row[3] / best))
END
}

# ---- nights ----------------------------------------------------------------------------------------------------------

for ((night = 1; night <= nights; night++)); do
    if [ "$night" -eq "$nights" ]; then
        for w in $slowed; do
            put_worse "$w" >"$out/forced/$w" && continue
            echo "bench_nights: nothing to force of $w" >&2
            rm "$out/forced/$w"
            failed=1
        done
    fi
    sleep 1 # a night is named by its second
    # shellcheck disable=SC2086 # words
    DEVICE=$device DTYPE=$dtype RESULTS=$out/results scripts/nightly.sh $workloads >"$out/night_$night.log" 2>&1
    code=$?
    echo "night $night: exit $code, $SECONDS s"
    case $code in 0 | 4 | 5) ;; *) failed=1 ;; esac
    sed -n '/^== failed/,$p' "$out/night_$night.log"
    cp "$out/results/nightly/nightly.md" "$out/night_$night.md" || exit 1
done

# ---- nights.csv ------------------------------------------------------------------------------------------------------

python3 - "$out" <<'END' || failed=1
import csv
import os
import sys

out = sys.argv[1]
rows = [r for r in csv.DictReader(open(out + "/results/nightly/timeline.csv", newline="")) if r["role"] == "tuned"]
nights = sorted({r["night"] for r in rows})
kept = ["workload", "mode", "dtype", "precision", "axes", "runs", "median_us", "base_us", "change_pct", "low_pct", "high_pct",
        "confidence", "verdict"]
wrong, missing = 0, set(os.listdir(out + "/forced"))
with open(out + "/nights.csv", "w", newline="") as f:
    table = csv.writer(f, lineterminator="\n")
    table.writerow(["device", "date", "night", "planted"] + kept)
    for r in rows:
        night = nights.index(r["night"]) + 1
        forced = "%s/forced/%s" % (out, r["workload"])
        planted = open(forced).read().strip() if night == len(nights) and os.path.exists(forced) else ""
        table.writerow([r["device"], r["timestamp"][:10], night, planted] + [r[k] for k in kept])
        print("night %d  %-18s %10s us %8s %%  %-7s%s" % (night, r["workload"], r["median_us"], r["change_pct"],
                                                          r["verdict"], planted and " planted: %s times" % planted))
        wrong += (r["verdict"] == "SLOWER") != bool(planted)
        missing.discard(r["workload"] if planted else "")
wrong += len(missing)
print("told apart" if not wrong else "%d verdicts are not what was planted" % wrong)
sys.exit(wrong > 0)
END

exit "$failed"
