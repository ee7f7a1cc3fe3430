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
expect 2 'which command\?'
expect 2 "no command 'bnech'; did you mean 'bench'" bnech
expect 2 "no command 'cache lss'; there are: ls, show, rm, export, import" cache lss
expect 2 'cache what\?' cache
expect 2 'history what\? There are: import' history
expect 2 'which CSV\?' history import
expect 2 "cannot open 'none.csv'" history import none.csv --results .
expect 2 "cannot open 'none.txt'" history import none.csv --results . --map none.txt
expect 2 "no workload 'models/gtp2'; did you mean 'gpt2.py'\? .*workloads/models has: dlrm.py" explain models/gtp2
"$WARPSMITH" explain models/dlrm -D rows=50 -D batch=4 >out && grep -q 'Graph Count: 1' out && passed=$((passed + 1)) || { cat out; failed=$((failed + 1)); }
for command in bench run explain compile; do
    expect 2 'which (FILE|WORKLOAD)\?' "$command"
    expect 2 "no workload 'known/sofmax.py'; did you mean 'softmax.py'\? known has: rmsnorm.py, softmax.py" "$command" known/sofmax.py
    expect 2 "unknown option '--deevice'; did you mean '--d" "$command" known/softmax.py --deevice
    expect 2 "unknown option '-x'" "$command" known/softmax.py -x
    expect 2 'one (FILE|WORKLOAD) at a time' "$command" known/softmax.py known/rmsnorm.py
    expect 2 "-D takes AXIS=VALUE, not 'dim'" "$command" known/softmax.py -D dim
    expect 2 "--mode takes one of fwd, bwd, train, not 'up'" "$command" known/softmax.py --mode up
    expect 2 "--dtype takes one of .*, not 'int4'" "$command" known/softmax.py --dtype int4
done
"$WARPSMITH" ops argmax >out && grep -q '^argmax  *reduction  *i64 ' out && passed=$((passed + 1)) || { cat out; failed=$((failed + 1)); }
expect 2 "no operator 'sofmax'; nearest: .*softmax" ops sofmax
expect 2 "unknown option '--frob'" ops --frob
expect 2 "at a time, not also 'relu'" ops gelu relu
for command in ops report compare 'cache ls' 'cache rm' help; do
    # shellcheck disable=SC2086
    expect 2 "unknown option '--hlep'; did you mean '--help'" $command --hlep
done
expect 2 "'--se' may be --seed, --search" bench known/softmax.py --se 1
expect 2 'compare what\?' compare --base a.csv
expect 2 'at a time, not also' compare a.csv b.csv c.csv
expect 2 "two results at a time" compare --base a.csv b.csv c.csv
expect 2 "two results at a time, not also 'd.csv'" compare --base a.csv --base b.csv --new c.csv d.csv
expect 2 "json or --markdown, not both" compare a.csv b.csv --json --markdown
expect 2 '--threshold takes a number' compare a.csv b.csv --threshold '2%'
printf 'workload,device\nknown/softmax.py,cpu\n' >table.csv
expect 2 "'table.csv', line 2: not in a case: --device" suite table.csv
expect 2 'no/such.csv' compare no/such.csv no/such.csv # named, and not there
expect 1 'not a result file' compare "$root/README.md" "$root/README.md"
expect 2 'no/such' report --results no/such
expect 2 "options only" report results
expect 2 '--figure needs --out' report --figure a.csv
expect 2 'one ID, --all or --older-than' cache rm
expect 2 'one ID, --all or --older-than' cache rm 3 --all
expect 2 "an ID is a number" cache show x
expect 2 "one of bash, zsh, fish" completion tcsh
expect 2 "--json is for workload files" explain "$root/tests/scripts/modules.py" --json --device cpu
expect 2 "--device needs a value" bench known/softmax.py --device
expect 2 "--retune takes no value" bench known/softmax.py --retune=1
expect 2 "unknown device 'gpu'" bench known/softmax.py --device gpu
for budget in soon 2x t 1.5t; do
    expect 2 "--budget takes seconds, 2.5, or a number of trials, 20t, not '$budget'" bench known/softmax.py --budget $budget
done
expect 2 "is an int, and '8:16' is not; a range of sizes is" bench known/softmax.py --device cpu -D dim=8:16
expect 2 "--seed takes a whole number" bench known/softmax.py --seed 1.5
expect 2 "--samples-max takes a whole number" bench known/softmax.py --samples-max 0
expect 2 "no axis 'depth'; axes: rows, dim" bench known/softmax.py --device cpu -D depth=3
# Several constants in one assignment are axes, too.
printf 'import torch\nb, h = 2, 4\ndef axes(x):\n    return x * h\ndef get_inputs():\n    return [torch.ones(b, h)]\n' >axes.py
expect 2 "no axis 'depth'; axes: b, h" run axes.py --device cpu -D depth=3
WARPSMITH_CACHE=$TMP/axes.db "$WARPSMITH" run axes.py --device cpu -D b=3 -D h=5 >out 2>err && grep -q 'out0  f32 \[3, 5\]  min 5' out &&
    passed=$((passed + 1)) || { cat out err; failed=$((failed + 1)); }
rm axes.py "$TMP"/axes.db*
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

# count NAME CONDITION...: one more passed or failed.
count() {
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        printf '%s: failed, out and err:\n' "$name"
        head -n 20 out err
        failed=$((failed + 1))
    fi
}

# --help says how, with an example, and is no error; so does `help COMMAND`.
helps() {
    "$WARPSMITH" "$@" >out 2>err </dev/null && grep -q '^usage: warpsmith' out && grep -q '^example: warpsmith' out
}
for command in bench run explain compile ops 'cache ls' 'cache rm' compare report completion manual; do
    # shellcheck disable=SC2086
    {
        count "$command --help" helps $command --help
        count "$command -h" helps $command -h
        count "help $command" helps help $command
    }
done
for word in --help -h help; do count "$word" helps "$word"; done
all_variables() { # what the environment may say is in --help
    local name
    for name in $(grep -oE 'get\("[A-Z_]+"\)' "$root/compiler/base/options.c" | grep -oE 'WS_[A-Z]+|WARPSMITH_[A-Z_]+'); do
        grep -q " $name " out || { echo "--help does not name $name"; return 1; }
    done
}
count 'variables' all_variables
version() { "$WARPSMITH" "$1" >out 2>err && grep -q '^warpsmith [0-9.]*, .*built by' out && grep -q '^C compiler: ' out; }
for word in --version -V; do count "$word" version "$word"; done

expect 2 "^warpsmith explain: --precision takes one of strict, f32, tf32, not 'half'$" explain known/softmax.py --arch sm_90a --precision half
precise() { WARPSMITH_PRECISION=tf32 "$WARPSMITH" explain "$root/workloads/matmul.py" --arch sm_90a "$@" >out 2>err; }
precisely() { precise && grep -q ') products tf32, convolutions tf32 {$' out && precise --precision f32 && ! grep -q tf32 out; }
count '--precision, and its default in the environment' precisely

# What says nothing about such a file is refused, not ignored.
for option in '--check' '--dtype bf16' '-D n=3' '--eval' '--mode bwd' '--save out'; do
    # shellcheck disable=SC2086
    expect 2 "${option%% *} is for workload files; .* is a script" run "$root/tests/scripts/eager.py" $option
done
for option in '--backend eager' '--explain'; do
    # shellcheck disable=SC2086
    expect 2 "${option%% *} is for scripts; .* is a workload" run known/softmax.py "${cpu[@]}" $option
done
printf 'async with f(): pass\n' >known/async.py
expect 1 'async.py:1' run known/async.py --device cpu --explain
expect 2 "no operator 'nosuchthing'; .warpsmith ops. lists them" ops nosuchthing

# What a config sets is explained, and no line of any help is wider than a terminal.
knobs() { "$WARPSMITH" help config >out 2>err && grep -q '^  warps  *warps per block' out; }
count 'help config' knobs
narrow() {
    "$WARPSMITH" help >out 2>err
    for command in bench run explain compile ops cache compare report completion manual config; do "$WARPSMITH" help $command; done >>out
    ! grep -E '.{80}' out
}
count 'help fits a terminal' narrow

# A workload is named as make bench names it, here and where this command was built.
named() { "$WARPSMITH" explain "$@" --arch sm_90a -D rows=8 -D dim=16 >out 2>err && grep -q '^Kernels: 1' out; }
count 'explain softmax' named softmax
count 'explain softmax.py' named softmax.py
count 'options may be shortened' named --du dump softmax
rm -rf dump

# --json is one value on stdout, whatever else is said.
json() { "$WARPSMITH" "$@" --json >out 2>err && python3 -m json.tool out >/dev/null; }
count 'ops --json' json ops softmax
count 'explain --json' json explain softmax --arch sm_90a -D rows=8 -D dim=16
# shellcheck disable=SC2016
count 'guards in explain --json' python3 -c 'import json; x = json.load(open("out")); assert x["guards"] and x["kernels"][0]["bytes"] == x["bytes"] == 1024'
count 'cache ls --json' json cache ls
rm -rf "$WARPSMITH_CACHE"*

# A module is in training mode, as in PyTorch, and that is said; --eval is for inference.
cat >known/drops.py <<'END'
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = torch.nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(x.exp())

def get_inputs():
    return [torch.randn(8, 16)]
END
hints() { "$WARPSMITH" explain known/drops.py --arch sm_90a >out 2>err && grep -q -e '--eval for inference' err && grep -q 'rand(' out; }
count 'training mode is said' hints
evaluates() {
    "$WARPSMITH" explain known/drops.py --arch sm_90a --eval >out 2>err && ! grep -q inference err && ! grep -q 'rand(' out &&
        grep -q '^Op Count: 1$' out
}
count 'explain --eval' evaluates

# Completions and the manual page name every command and option of --help, and are what shells read.
completes() {
    "$WARPSMITH" completion "$1" >out 2>err && grep -q samples-max out && grep -q older-than out
}
for shell in bash zsh fish; do count "completion $shell" completes "$shell"; done
"$WARPSMITH" completion zsh >completion.zsh
count 'zsh says what commands do' grep -qF "'bench:tune the kernels" completion.zsh
"$WARPSMITH" completion bash >completion.bash
completed() {
    bash -c '. ./completion.bash; COMP_WORDS=(warpsmith '"$1"'); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _warpsmith warpsmith "${COMP_WORDS[COMP_CWORD]}"; printf "%s\n" "${COMPREPLY[@]}"' >out 2>err &&
        [ "$(sort out | tr '\n' ' ')" = "$2" ]
}
count 'completes a command' completed comp 'compare compile completion '
count 'completes an option' completed 'bench --sam' '--samples-max '
count 'completes a second word' completed 'cache ex' 'export '
"$WARPSMITH" manual >out 2>err
count 'manual' grep -q '^\.SH EXIT STATUS' out
if command -v groff >/dev/null; then count 'manual is roff' bash -c '[ -z "$(groff -man -Tutf8 -ww -z out 2>&1)" ]'; fi

# What cannot be written is an error.
full() { ! "$WARPSMITH" "$@" >/dev/full 2>err && grep -q 'output' err; }
closed() {
    # A pipe that nobody reads from the start: behind `| true` short output may be written before true ends.
    local code=0
    rm -f pipe && mkfifo pipe
    exec 8<>pipe 9>pipe 8>&-
    "$WARPSMITH" "$@" 2>err >&9 9>&- || code=$?
    exec 9>&-
    [ $code = 3 ]
}
for command in ops help manual 'ops --json' 'explain softmax --arch sm_90a'; do
    # shellcheck disable=SC2086
    count "$command to a full disk" full $command
done
for command in ops manual; do count "$command to a closed pipe" closed "$command"; done

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
