#!/usr/bin/env bash
# All that the command says of itself, of calls that are wrong, and of workloads that it explains, as tests/golden/command/NAME.txt
# have it.
#
#   UPDATE=1 make run-command_texts     writes the files anew: read the diff, it must be what you meant
set -euo pipefail
golden=$PWD/tests/golden/command
. tests/golden/check.sh
export WARPSMITH_CPU_CACHE=32M WARPSMITH_CACHE=$TMP/store.db

# say ARGUMENTS: what the command says, and its exit code.
say() {
    local code=0
    echo "\$ warpsmith $*" | sed "s|$TMP|TMP|g"
    timeout 60 "$WARPSMITH" "$@" </dev/null >"$TMP/said" 2>&1 || code=$?
    sed "s|$TMP|TMP|g" "$TMP/said"
    if [ "$code" != 0 ]; then echo "exit code $code"; fi
    echo
}

commands=(bench suite run explain compile ops compare report 'nightly judge' 'nightly cases' 'nightly accept' 'history import' 'cache ls'
    'cache show' 'cache rm' 'cache export' 'cache import' merge help completion manual)
{
    say help
    # shellcheck disable=SC2086
    for command in "${commands[@]}" config nothing; do say help $command; done
    for shell in bash zsh fish none; do say completion "$shell"; done
    say manual | sed 's/^\.TH .*/.TH/'
} >"$TMP/help.txt"
{
    say ops
    say ops --json
    for op in softmax add conv2d index_add; do say ops "$op"; done
} >"$TMP/ops.txt"
# Wrong words for each option of what has most of them, and options that do not go together.
{
    values=(--device --arch --dtype -D --precision --mode --seed --config --weights --fusion --backend --results --search --budget --samples-max
        --limit-seconds --limit-memory --threshold --base --new --map --out --figure --run)
    for command in bench explain run compare report; do
        for option in "${values[@]}"; do
            say "$command" "$option"
            for value in '' x -1; do say "$command" workloads/softmax.py "$option" "$value" --deevice; done
        done
    done
    for option in "${values[@]}"; do
        for value in 0 2 1e99 nan x; do say explain workloads/softmax.py --arch sm_90a "$option" "$value" | sed -n 1,4p; done
    done
    for flags in '--budget 5t --search exhaustive' '--no-search --retune' '--retune --config x=1' '--compare-searches --search model' '--eval --mode bwd' \
        '--device cpu --arch sm_90a' '-D dim=8 -D dim=9' '-D nothing=5' '-D dim=' '-D dim=0' '-D dim=8:4' '-D dim=1:9:*1' '-D dim=1:9:+0' '-D dim=1,,2' '-D dim=x'; do
        # shellcheck disable=SC2086
        say explain workloads/softmax.py --arch sm_90a $flags
    done
    for flags in '--json ls' 'show nothing' 'rm nothing' 'rm' 'rm --all' 'rm --older-than x' 'rm --older-than 3' 'export' "export $TMP/none/x.db" "import $TMP/none.db" ls; do
        # shellcheck disable=SC2086
        say cache $flags
    done
} >"$TMP/calls.txt"
{
    for file in workloads/*.py; do
        for arch in sm_90a sm_80; do say explain "$file" --arch "$arch"; done
    done
    for file in softmax layernorm attention mlp_swiglu convolution cross_entropy embedding; do
        say explain "workloads/$file.py" --arch sm_100 --mode train --dtype bf16
        say explain "workloads/$file.py" --arch sm_80 --mode bwd --fusion eager
        say explain "workloads/$file.py" --arch sm_90a --precision tf32 --weights changing --json
    done
} >"$TMP/explained.txt"
check_texts help ops calls explained
