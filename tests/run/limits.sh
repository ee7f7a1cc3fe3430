#!/usr/bin/env bash
# limits.sh: what a file may make the machine do. Sizes that its memory does not hold, ranges that end nowhere, files
# that grow too large and calls that are interrupted end with a message and the exit code for it, and leave the store
# and the results whole.
set -uo pipefail
cd "$TMP"
export OMP_NUM_THREADS=2

passed=0 failed=0
# ok STATUS PATTERN: the command that ran last, whose status is in $got and whose words are in out and err.
ok() {
    local lines
    lines=$(wc -l <err)
    if [ "$got" = "$1" ] && { [ -z "$2" ] || grep -qE -- "$2" err; } && [ "$lines" -le 25 ]; then
        passed=$((passed + 1))
    else
        printf 'expected status %s and "%s", got %s and %s lines:\n' "$1" "$2" "$got" "$lines"
        head -c 2000 err
        failed=$((failed + 1))
    fi
}
expect() {
    local status=$1 pattern=$2
    shift 2
    got=0
    "$WARPSMITH" "$@" >out 2>err </dev/null || got=$?
    ok "$status" "$pattern"
}

cat >scale.py <<'END'
import torch

rows = 4
dim = 64

def scale(x):
    return x * 2.0

def get_inputs():
    return [torch.randn(rows, dim)]
END

# Memory: 8 GB of input, of which there are 16 GB of doubles first, where a process may take 4 GB.
(
    ulimit -v 4000000
    expect 3 'scale needs .* GB of memory .* are left' run scale.py --device cpu --in-process -D rows=1024 -D dim=2097152
    expect 3 'at dim=4294967296: scale needs .* GB of memory' \
        bench scale.py --device cpu --in-process -D dim=64,4294967296 --results res
    [ $failed = 0 ]
) && passed=$((passed + 1)) || failed=$((failed + 1))

# A loop over an array before forward asks for each element: what an element is computed from goes with its value.
cat >schedule.py <<'END'
import numpy as np
import torch

steps = 1000
alphas = np.cumprod(1.0 - np.array([0.0001 + i * 0.00002 for i in range(steps)]))
betas, last = [], 1.0
for a in alphas:
    betas.append(1 - a / last)
    last = a
betas = torch.from_numpy(np.array(betas)).float()

def schedule(x):
    return x * betas[:4]

def get_inputs():
    return [torch.randn(2, 4)]
END
expect 0 '' explain schedule.py --arch cpu --limit-memory 64

# A reference that does not fit is sampled, which is said.
cat >chain.py <<'END'
import torch

rows = 4

def chain(x):
    y = torch.softmax(x, -1)
    return torch.sigmoid(y * x + torch.tanh(y))

def get_inputs():
    return [torch.rand(rows, 32)]
END
(
    ulimit -v 1500000
    expect 0 '' run chain.py --device cpu --in-process --check -D rows=1000000
    grep -q '31999744 of 32000000 elements of out0 have no bound' out &&
        grep -q 'sampled elements of all outputs agree' out || { cat out && false; }
    [ $failed = 0 ]
) && passed=$((passed + 1)) || failed=$((failed + 1))

# Limits are no negative numbers, wherever they come from.
for name in SECONDS MEMORY; do
    got=0
    env "WARPSMITH_LIMIT_$name=-1" "$WARPSMITH" explain scale.py --arch cpu >out 2>err </dev/null || got=$?
    ok 2 "WARPSMITH_LIMIT_$name takes .* from 0 to 1e.09, not '-1'"
done
expect 2 "limit-seconds takes a number from 0 to" explain scale.py --arch cpu --limit-seconds=-1

# A ladder that ends where no tensor does is refused before its first rung is tuned.
expect 1 'at rows=[0-9]*: a tensor of .* elements is too large' \
    bench scale.py --device cpu -D 'rows=1:9223372036854775807:*2' --results res
if grep -q tuning out; then echo 'a rung was tuned'; failed=$((failed + 1)); fi
if [ -e res ]; then echo 'there are results'; failed=$((failed + 1)); fi

# Files that may not grow: an error, no signal; afterwards everything is as it was.
"$WARPSMITH" bench scale.py --device cpu --results res --search random --budget 2t --no-figures >out 2>err || {
    cat out err
    failed=$((failed + 1))
}
cp res/scale.csv before.csv
(
    ulimit -f 1 # KiB
    "$WARPSMITH" bench scale.py --device cpu -D dim=128 --results res --search random --budget 2t --no-figures
) >out 2>err
got=$?
ok 3 'warpsmith bench: '
cmp -s before.csv res/scale.csv || { echo 'the results have changed'; failed=$((failed + 1)); }
expect 0 '' bench scale.py --device cpu --no-search --results res --no-figures
expect 0 '' cache ls

# An interrupt ends whatever is being done: here a reference that would take hours.
cat >slow.py <<'END'
import torch

def slow(x):
    return (x @ x).relu()

def get_inputs():
    return [torch.randn(6000, 6000)]
END
# terminated ARGUMENT...: ends when it is told to, two seconds on.
terminated() {
    local worker
    "$WARPSMITH" "$@" >out 2>err </dev/null &
    worker=$!
    sleep 2
    kill -TERM $worker
    got=0
    wait $worker || got=$?
    ok 143 'interrupted'
}
terminated run slow.py --device cpu --check
terminated bench slow.py --device cpu --results res

# Or results without end are printed.
cat >results.py <<'END'
import torch

def results(x):
    return [x] * 200000

def get_inputs():
    return [torch.ones(2)]
END
terminated run results.py --device cpu

# A line of a megabyte, and what a terminal would obey.
{ printf 'import torch\n\nx = "\033[2J%0900000d" + 1\n' 0; } >long.py
printf 'def get_inputs():\n    return []\n' >>long.py
expect 1 'long.py:3:5: TypeError' explain long.py --arch sm_90a
if [ "$(wc -c <err)" -gt 1000 ] || grep -q $'\033' err; then
    echo 'the whole line, or a raw escape:'
    head -c 500 err
    failed=$((failed + 1))
else
    passed=$((passed + 1))
fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
