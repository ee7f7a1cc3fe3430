#!/usr/bin/env bash
# What is wrong with a call is said in one message on stderr, with exit status 2, and leaves nothing behind.
set -uo pipefail

passed=0 failed=0
cd "$TMP" || exit 1
root=$OLDPWD
mkdir -p known
cp "$root/workloads/softmax.py" "$root/workloads/rmsnorm.py" known/

# expect CODE PATTERN ARGUMENT...: warpsmith ends with CODE, its stderr matches PATTERN.
expect() {
    local code=$1 pattern=$2 got=0
    shift 2
    "$WARPSMITH" "$@" >out 2>err </dev/null || got=$?
    if [ "$got" != "$code" ] || ! grep -qE -- "$pattern" err; then
        printf 'warpsmith %s\n  expected %s and /%s/, got %s and:\n' "$*" "$code" "$pattern" "$got"
        cat err
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}

# nothing_left: no results and no store were made.
nothing_left() {
    if [ -e results ] || [ -e "$WARPSMITH_CACHE" ]; then
        echo "a wrong call left files behind: $(ls -d results "$WARPSMITH_CACHE" 2>/dev/null)"
        failed=$((failed + 1))
        rm -rf results "$WARPSMITH_CACHE"
    else
        passed=$((passed + 1))
    fi
}

cpu=(--device cpu -D rows=8 -D dim=16)
expect 2 'usage: warpsmith COMMAND'
expect 2 "no command 'tune'" tune
for command in bench run explain compile; do
    expect 2 'which file' "$command"
    expect 2 "no workload 'known/sofmax.py'; known has: rmsnorm.py, softmax.py" "$command" known/sofmax.py
    expect 2 "unknown option '--frob'" "$command" known/softmax.py --frob
    expect 2 'one file at a time' "$command" known/softmax.py known/rmsnorm.py
    expect 2 "-D takes AXIS=VALUE, not 'dim'" "$command" known/softmax.py -D dim
    expect 2 "--mode takes one of fwd, bwd, train, not 'up'" "$command" known/softmax.py --mode up
    expect 2 "--dtype takes one of .*, not 'int4'" "$command" known/softmax.py --dtype int4
done
"$WARPSMITH" ops argmax >out && grep -q '^argmax  *reduction  *i64 ' out && passed=$((passed + 1)) || { cat out; failed=$((failed + 1)); }
expect 2 "no operator 'sofmax'; nearest: .*softmax" ops sofmax
expect 2 "no option '--frob'" ops --frob
expect 2 "one name at a time, not also 'relu'" ops gelu relu
expect 2 "--device needs a value" bench known/softmax.py --device
expect 2 "--retune takes no value" bench known/softmax.py --retune=1
expect 2 "unknown device 'gpu'" bench known/softmax.py --device gpu
expect 2 "--budget takes a number" bench known/softmax.py --budget soon
expect 2 "--seed takes a whole number" bench known/softmax.py --seed 1.5
expect 2 "--samples-max takes a whole number" bench known/softmax.py --samples-max 0
expect 2 "no axis 'depth'; axes: rows, dim" bench known/softmax.py --device cpu -D depth=3
expect 2 '-D dim=.* a value is missing' bench known/softmax.py --device cpu -D dim=1,,2
expect 2 '-D dim is given twice' bench known/softmax.py --device cpu -D dim=1 -D dim=2
expect 2 'one value an axis' run known/softmax.py --device cpu -D dim=8,16
expect 2 "no kernel 'nosuch'; the kernels are: " bench known/softmax.py "${cpu[@]}" --config 'nosuch: x=1'
expect 2 'frob' bench known/softmax.py "${cpu[@]}" --config 'frob=1'
expect 2 "--config 'x=1 vec=3' is illegal for " bench known/softmax.py "${cpu[@]}" --config 'x=1 vec=3'
expect 2 '--arch is needed: one of sm_80, ' compile known/softmax.py
expect 2 "unknown --arch 'sm_1': expected one of sm_80, " compile known/softmax.py --arch sm_1
expect 2 '--device or --arch, not both' explain known/softmax.py --device cpu --arch sm_80
WS_LOGS=guards,gaurds expect 2 "WS_LOGS has no 'gaurds'; it takes: graph_breaks, guards" explain known/softmax.py
expect 2 '--limit-seconds takes a number' explain known/softmax.py --limit-seconds soon
expect 2 '--limit-memory takes a whole number' run known/softmax.py --limit-memory 1.5
WARPSMITH_LIMIT_MEMORY=1G expect 2 'WARPSMITH_LIMIT_MEMORY takes a whole number' explain known/softmax.py
nothing_left

# A machine without a GPU cannot do this; what was looked for is said.
if ! [ -e /dev/nvidiactl ]; then expect 3 'libcuda|no GPU|driver' bench known/softmax.py --device cuda:0; fi

# The user's file is wrong: file, line and a caret.
printf 'import torch\n\ndef bad(x):\n    return torch.softmax(x, dim=-1) +\n' >known/bad.py
expect 1 'bad.py:4' bench known/bad.py --device cpu
printf 'import torch\n\ndef worse(x):\n    return torch.nosuch(x)\n\ndef get_inputs():\n    return [torch.randn(4)]\n' >known/worse.py
expect 1 'worse.py:4' bench known/worse.py --device cpu
nothing_left

# --help says how, with an example, and is no error.
for command in bench run explain compile cache compare report; do
    got=0
    "$WARPSMITH" "$command" --help >out 2>err </dev/null || got=$?
    if [ $got = 0 ] && grep -q '^usage: warpsmith' out && grep -q 'example: warpsmith' out; then
        passed=$((passed + 1))
    else
        printf 'warpsmith %s --help: status %s, printed:\n' "$command" "$got"
        cat out err
        failed=$((failed + 1))
    fi
done

# The first line says which device, and why that one.
"$WARPSMITH" run known/softmax.py "${cpu[@]}" >out 2>err
if head -n 1 out | grep -q '^device cpu: .* (as asked)$'; then
    passed=$((passed + 1))
else
    printf 'the first line is not about the device:\n'
    cat out err
    failed=$((failed + 1))
fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
