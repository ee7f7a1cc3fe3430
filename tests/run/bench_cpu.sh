#!/usr/bin/env bash
# `warpsmith bench` on the CPU: tune, store, hit the cache, replay, sweep; and the rows that it leaves.
set -euo pipefail

fail() {
    printf '%s\n' "$@"
    exit 1
}

results=$TMP/results
bench() { "$WARPSMITH" bench "$@" --device cpu --results "$results" --no-figures >"$TMP/out" 2>"$TMP/err" </dev/null; }
said() { grep -qE -- "$1" "$TMP/out" || fail "expected /$1/ in:" "$(cat "$TMP/out" "$TMP/err")"; }
said_not() { ! grep -qE -- "$1" "$TMP/out" || fail "did not expect /$1/ in:" "$(cat "$TMP/out")"; }

# column NAME FILE: the column's values, one a line. Fields of these files hold no quotes but in configs of several
# kernels, which stand in one field: python reads them.
column() { python3 -c 'import csv, sys
for row in csv.DictReader(open(sys.argv[2])): print(row[sys.argv[1]])' "$1" "$2"; }
# rows FILE CONDITION: how many rows fulfil a Python condition over r.
rows() { python3 -c 'import csv, sys
print(sum(1 for r in csv.DictReader(open(sys.argv[1])) if eval(sys.argv[2])))' "$1" "$2"; }

# A first run tunes.
small=(-D rows=32 -D dim=64)
bench workloads/softmax.py "${small[@]}" --budget 2 || fail "bench failed:" "$(cat "$TMP/out" "$TMP/err")"
csv=$results/softmax.csv
said '^device cpu: '
said 'tuning 1 of 1 kernel: never tuned'
said '^unfused '
said '^default .*x$'
said '^tuned .*x$'
said ' % roof ' # which is measured where it is not stored
said '^  unfused: one operator a kernel'
said 'configs: [0-9]+ timed'
[ "$(rows "$csv" 'r["role"] == "variant" and r["status"] == "ok"')" -ge 1 ] || fail "no variant was recorded"
[ "$(rows "$csv" 'r["is_winner"] == "1"')" = 1 ] || fail "there must be one winner"
for role in eager default tuned; do
    [ "$(rows "$csv" "r['role'] == '$role' and r['kernel'] == 'program' and float(r['median_us']) > 0")" = 1 ] ||
        fail "no row for $role"
done
[ "$(column axes "$csv" | sort -u)" = 'dim=64 rows=32' ] || fail "axes are: $(column axes "$csv" | sort -u)"
[ "$(column workload "$csv" | sort -u)" = softmax ] || fail "wrong workload"
[ "$(column timer "$csv" | sort -u)" = monotonic ] || fail "wrong timer"
[ "$(column dtype "$csv" | sort -u)" = f32 ] || fail "wrong dtype"
# What each program was compared with, and how far off it was.
judged="r['reference'] == 'eval' and 0 <= float(r['error']) <= float(r['bound']) and r['error_at'].startswith('out0[') and float(r['reference_s']) > 0 and r['unbounded'] == r['unjudged'] == '0'"
[ "$(rows "$csv" "r['kernel'] == 'program' and r['role'] != 'roof' and $judged")" = 3 ] || fail "rows do not say how right they are"
[ "$(rows "$csv" "r['role'] == 'tuned' and 0 < float(r['reference_s']) < float(r['all_check_s']) and 0 < float(r['all_timing_s']) < float(r['all_s'])")" = 1 ] ||
    fail "the tuned row does not say what checking and timing took"
winner=$(python3 -c 'import csv, sys
print(next(r["config"] for r in csv.DictReader(open(sys.argv[1])) if r["is_winner"] == "1"))' "$csv")
# Whether that is the default is said beside it.
if [ "$(rows "$csv" "r['role'] == 'default' and r['kernel'] == 'program' and r['config'] == '$winner'")" = 1 ]; then
    said ' us, the default$'
else
    said ' us, [0-9.]+x default$'
fi

# A second run compiles and searches nothing, and its rows are the programs'.
before=$(rows "$csv" True)
bench workloads/softmax.py "${small[@]}" || fail "the second run failed:" "$(cat "$TMP/out" "$TMP/err")"
said 'cache hit'
said 'compiled 0, [1-9][0-9]* from the store'
said '^stored '
[ "$(rows "$csv" 'r["role"] == "variant"')" = "$((before - 4))" ] || fail "a cache hit recorded variants"
[ "$(rows "$csv" "r['role'] == 'tuned' and r['config'] == '$winner'")" = 2 ] || fail "the winner was not used again"

[ "$(rows "$csv" "r['reference'] == 'trusted' and r['role'] in ('default', 'tuned')")" = 2 ] ||
    fail "the second run's reference is the eager program"

# Another size is another key; so is another dtype.
bench workloads/softmax.py -D rows=32 -D dim=128 --budget 1
said 'never tuned'
bench workloads/softmax.py "${small[@]}" --dtype bf16 --budget 1
said 'never tuned'

# --retune searches again.
bench workloads/softmax.py "${small[@]}" --retune --budget 1
said 'tuning again'

# --config replays one config, and stores nothing.
before=$(cksum <"$csv")
entries=$("$WARPSMITH" cache ls | wc -l)
bench workloads/softmax.py "${small[@]}" --config "$winner"
said '^config '
said 'of what copy bandwidth allows' # measured, as no store is read
said_not 'cache hit'
[ "$(cksum <"$csv")" = "$before" ] || fail "--config wrote rows"
[ "$("$WARPSMITH" cache ls | wc -l)" = "$entries" ] || fail "--config changed the store"

# A sweep has a table for every point, in one file, under one run.
bench workloads/relu_chain.py -D rows=4,8 -D dim=16,32 --budget 1
[ "$(grep -c '^tuned ' "$TMP/out")" = 4 ] || fail "four points expected:" "$(cat "$TMP/out")"
[ "$(grep -c '^  unfused: one operator a kernel' "$TMP/out")" = 1 ] || fail "what columns mean is said once:" "$(cat "$TMP/out")"
[ "$(rows "$results/relu_chain.csv" 'r["role"] == "tuned"')" = 4 ] || fail "four tuned rows expected"
[ "$(column run_id "$results/relu_chain.csv" | sort -u | wc -l)" = 1 ] || fail "a sweep is one run"

# Two kernels: each has its config.
bench workloads/mm_softmax.py -D n=32 --budget 1
said 'tuning 2 of 2 kernels'
[ "$(rows "$results/mm_softmax.csv" 'r["is_winner"] == "1"')" = 2 ] || fail "two winners expected"

# Three layers that are the same are one kernel to tune; each kernel is judged alone, too.
cat >"$TMP/layers.py" <<'EOF'
import torch
n = 32
def layers(x, a, b, c):
    for w in (a, b, c):
        x = torch.tanh(x @ w)
    return torch.softmax(x, -1)
def get_inputs():
    return [torch.randn(n, n) for _ in range(4)]
EOF
bench "$TMP/layers.py" --budget 3t || fail "bench failed:" "$(cat "$TMP/out" "$TMP/err")"
said 'tuning 4 of 4 kernels \(2 different\): never tuned'
said '^each kernel alone: 4 of the 4 buffers that they write are judged'
[ "$(rows "$results/layers.csv" 'r["is_winner"] == "1"')" = 2 ] || fail "two winners expected"
bench "$TMP/layers.py" || fail "the second run failed:" "$(cat "$TMP/out" "$TMP/err")"
said 'cache hit'

# What has no bound as a whole is judged kernel by kernel, of a program of several.
cat >"$TMP/pole.py" <<'EOF'
import torch
def pole(x):
    return 1 / (x.sum(1) - x.flip(1).sum(1))
def get_inputs():
    return [torch.randn(4, 64)]
EOF
bench "$TMP/pole.py" --budget 3t || fail "bench failed:" "$(cat "$TMP/out" "$TMP/err")"
[ "$(rows "$results/pole.csv" "r['kernel'] == 'program' and r['role'] != 'roof' and r['unbounded'] == r['unjudged'] == '4'")" = 3 ] ||
    fail "rows do not say that nothing was judged:" "$(cat "$results/pole.csv")"

# Configs add up in other orders, so a bool turns where a rounding decides: none of them is wrong for that.
cat >"$TMP/edge.py" <<'EOF'
import torch
def edge(x):
    odd = torch.remainder(torch.floor(x / x.sum(1, keepdim=True) * 2e6), 2) > 0
    return torch.cumsum(torch.where(odd, 1, 0), 0)
def get_inputs():
    return [torch.rand(64, 4096)]
EOF
bench "$TMP/edge.py" --search exhaustive --samples-max 2 || fail "bench failed:" "$(cat "$TMP/out" "$TMP/err")"
said 'tuning 2 of 2 kernels'
said_not 'wrong'

# A config of several launches has the time of each in its profile.
bench workloads/full_sum.py -D n=65536 --profile --config 'x=1 r=1024 vec=8 split=4' ||
    fail "bench failed:" "$(cat "$TMP/out" "$TMP/err")"
said '^ +launches kernel_sum [0-9.]+ us, kernel_sum_finish [0-9.]+ us$'

# run takes the stored winner.
"$WARPSMITH" run workloads/softmax.py "${small[@]}" --device cpu --check >"$TMP/out" 2>&1 ||
    fail "run failed:" "$(cat "$TMP/out")"
said '\(tuned\)$'
said 'check: all outputs agree with the reference'
