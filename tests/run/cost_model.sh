#!/usr/bin/env bash
# scripts/cost_model.py on times that we make up: scores of the model's order, and what it refuses.
set -uo pipefail

failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}
columns=workload,mode,dtype,axes,kernel,config,role,status,median_us,span_us,device,timestamp

# rows MICROSECONDS...: a result file of softmax under so many threads a row, from 32 on, twice as many each time.
rows() {
    local warps=1
    echo $columns
    for us in "$@"; do
        echo "softmax,fwd,f32,dim=4096 rows=4096,k_amax_sub_exp_sum_div_0,x=1 r=4096 warps=$warps vec=4 keep=1,variant,ok,$us,,X,2026-01-01T"
        warps=$((2 * warps))
    done
}
# scores FILE: pick_over_best, rank_correlation, near_trials and first_over_best of its only kernel.
scores() { scripts/cost_model.py --no-refit "$1" | sed 1d | cut -d, -f10-13; }

# The model's order of these, by its own word: then times that agree, and times that contradict it.
order=$( (
    printf 'workload\tworkloads/softmax.py\tfwd\tf32\tdim=4096 rows=4096\nkernel\tk_amax_sub_exp_sum_div_0\n'
    for warps in 1 2 4 8 16; do printf 'config\tx=1 r=4096 warps=%d vec=4 keep=1\n' $warps; done
    echo costs
) | "$BUILD/tests/cost/cost_model" sm_90a | tail -1)
[ "$(wc -w <<<"$order")" = 5 ] || fail "five costs expected: $order"
# shellcheck disable=SC2086
rows $order >"$TMP/agrees.csv"
[ "$(scores "$TMP/agrees.csv")" = 1,1,1,1 ] || fail "times as the model says: $(scores "$TMP/agrees.csv")"
# shellcheck disable=SC2086
rows $(for us in $order; do python3 -c "print(1e4 / $us)"; done) >"$TMP/contradicts.csv"
scores "$TMP/contradicts.csv" | grep -qE '^[0-9]+(\.[0-9]+)?,-1,[2-5],1$' || fail "times against the model: $(scores "$TMP/contradicts.csv")"

# Of one workload there are no others to fit numbers to.
[ "$(scripts/cost_model.py "$TMP/agrees.csv" | sed 1d | cut -d, -f10-)" = 1,1,1,1,,,,,,,, ] || fail "one workload: $(scripts/cost_model.py "$TMP/agrees.csv" 2>&1 | tail -1)"

# The numbers are those of the source, and can be changed.
said=$(printf 'numbers\nnumber\t0\t7.5\nnumbers\n' | "$BUILD/tests/cost/cost_model" sm_90a)
[ "$(sed -n 3p <<<"$said" | cut -d' ' -f1)" = 7.5 ] || fail "a number was not changed: $said"
[ "$(sed -n 1p <<<"$said" | cut -d' ' -f2-)" = "$(sed -n 3p <<<"$said" | cut -d' ' -f2-)" ] || fail "others changed, too: $said"

# What is no result file, and kernels that are no more.
echo a,b >"$TMP/foreign.csv"
scripts/cost_model.py "$TMP/foreign.csv" >"$TMP/out" 2>"$TMP/err"
if [ $? != 1 ] || ! grep -q 'no result file' "$TMP/err"; then fail "a foreign file: $(cat "$TMP/err")"; fi
sed 's/k_amax_sub/k_gone/' "$TMP/agrees.csv" >"$TMP/gone.csv"
scripts/cost_model.py --no-refit "$TMP/gone.csv" >"$TMP/out" 2>"$TMP/err"
if [ $? != 0 ] || ! grep -q 'there is no kernel k_gone' "$TMP/err"; then fail "a kernel that is gone: $(cat "$TMP/err")"; fi

exit $((failures > 0))
