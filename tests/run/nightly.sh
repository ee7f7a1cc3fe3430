#!/usr/bin/env bash
# scripts/nightly.sh with a command that we make up: what it calls, that it goes on, and the worst exit code.
set -euo pipefail

failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

# `bench` leaves a row unless its workload is called mute, and exits with the number in its workload's name, or waits
# where it is called wait; `nightly judge` exits with the first number of $JUDGE, next time with the second, and so on.
mkdir -p "$TMP/scripts" "$TMP/workloads"
cp scripts/nightly.sh "$TMP/scripts"
for name in a0 b3 c1 a139 mute0 wait0; do touch "$TMP/workloads/$name.py"; done
cat >"$TMP/warpsmith" <<'END'
#!/usr/bin/env bash
if [ "$1 $2" = 'nightly cases' ]; then exec "$REAL" "$@"; fi
echo "$* ${WARPSMITH_RUN_ID-}" >>"$TMP/calls"
if [ "$1" = nightly ]; then
    codes=($JUDGE) n=$(grep -c '^nightly' "$TMP/calls")
    code=${codes[n - 1]:-${codes[-1]}}
    [ "$code" = 4 ] && echo '| a0 fwd f32 dim=1 tuned | SLOWER | 1 |'
    [ "$code" = 5 ] && echo '| a0 fwd f32 dim=1 tuned | UNSURE | 1 |'
    exit "$code"
fi
workload=$(basename "$2" .py)
while [ "$1" != --results ]; do shift; done
if [ -e "$TMP/slow" ] && [ "$workload" = wait0 ]; then touch "$TMP/waits"; exec sleep 600; fi
case $workload in mute*) ;; *) echo row >>"$2/$workload.csv" ;; esac
code=${workload//[^0-9]/}
exit "${code:-0}"
END
chmod +x "$TMP/warpsmith"
nightly=$TMP/scripts/nightly.sh
export REAL=$WARPSMITH

# nightly WORKLOAD...: its exit code in $code, its output in $said, its calls in $TMP/calls.
nightly() {
    rm -f "$TMP/calls"
    [ -n "${KEEP-}" ] || rm -rf "$TMP/results"
    code=0
    said=$(WARPSMITH=$TMP/warpsmith RESULTS=$TMP/results "$nightly" "$@" 2>&1) || code=$?
}

# expect CODE TEXT: the last call of nightly exited so and said so.
expect() {
    if [ "$code" != "$1" ]; then fail "exit $code, expected $1:" "$said"; fi
    if [[ $said != *"$2"* ]]; then fail "did not say '$2':" "$said"; fi
}

# calls N PATTERN: so many calls were like that.
calls() {
    local n
    touch "$TMP/calls" # it may have come to none
    n=$(grep -c -- "$2" "$TMP/calls" || true)
    if [ "$n" != "$1" ]; then fail "$n calls like '$2', expected $1:" "$(cat "$TMP/calls")"; fi
}

export JUDGE=0
nightly a0
expect 0 ''
calls 1 '^bench'
# What is slower or noisy is run again, twice at most, before it is reported; nothing else is.
JUDGE='4 0' nightly a0 wait0
expect 0 'again: a0'
calls 2 '^bench workloads/a0'
calls 1 '^bench workloads/wait0'
calls 1 'Z.2$'
JUDGE=4 nightly a0
expect 4 SLOWER
calls 3 '^bench'
JUDGE=5 AGAIN=0 nightly a0
expect 5 UNSURE
calls 1 '^bench'
ROUNDS=3 nightly a0
calls 1 'a0.py .*Z.3$'

JUDGE=4 nightly a0 b3 c1 # a failing workload does not stop the next; 3 is worse than 1, 1 worse than 4
expect 3 'b3: bench: MACHINE CANNOT'
calls 1 '^bench workloads/c1'
JUDGE=4 nightly a0 c1
expect 1 'c1: bench: WRONG'
JUDGE=1 nightly a0 # lost, or broken
expect 1 ''
nightly a139
expect 1 'FAILED (exit 139)'
nightly mute0
expect 1 'appended no rows'

DEVICE=cuda:1 DTYPE='bf16 f32' MODE=train D='dim=1,2 rows=4' THRESHOLD=0.05 nightly a0
for dtype in bf16 f32; do
    calls 1 "^bench workloads/a0.py --device cuda:1 --dtype $dtype --mode train -D dim=1,2 -D rows=4 --results $TMP/results "
done
calls 1 "^nightly judge --results $TMP/results --threshold 0.05"

# Without names: all of workloads/. A word that is none is an error before anything runs.
nightly
calls "$(find "$TMP/workloads" -name '*.py' | wc -l)" '^bench'
nightly a0 --foo
expect 2 "no workload '--foo'; workloads/ has: a0"
if [ -e "$TMP/calls" ]; then fail 'ran something of a wrong call'; fi

# A table of cases: every combination of the words of a row, with comments, in any order of columns, without a last newline.
printf 'dim = 4\nrows = 4\n' >"$TMP/workloads/a0.py"
printf '# say "hi\n\ndtype,workload,axes,mode,device\nf32 bf16,a0,"dim=1,2 rows=4",fwd train,cpu\n,wait0,,,' >"$TMP/suite.csv"
JUDGE='4 0' SUITE=$TMP/suite.csv nightly
expect 0 'again: a0'
for dtype in bf16 f32; do
    for mode in fwd train; do
        calls 2 "^bench a0 -D dim=1,2 -D rows=4 --dtype $dtype --mode $mode --device cpu --results $TMP/results "
    done
done
calls 1 '^bench wait0 --results'
calls 9 '^bench'
SUITE=$TMP/suite.csv nightly a0
expect 2 'SUITE says what is run'
SUITE=$TMP/suite.csv DTYPE=f32 nightly
expect 2 'SUITE says what is run'
# refused LINE TEXT ROWS: of a table with these rows nothing is run.
refused() {
    printf '%b' "$3" >"$TMP/suite.csv"
    SUITE=$TMP/suite.csv nightly
    expect 2 "'$TMP/suite.csv', line $1: $2"
    if [ -e "$TMP/calls" ]; then fail "ran something of a wrong table: $3"; fi
}
refused 2 "no column 'dtyp'; there are workload, axes" '# comment\nworkload,dtyp\na0,f32\n'
refused 1 "no column 'workload'" 'dtype\nf32\n'
refused 1 "two columns 'mode'" 'workload,mode,mode\n'
refused 3 'cells: 1, columns: 2' 'workload,dtype\na0,f32\na0\n'
refused 2 'not valid CSV' 'workload,axes\na0,"dim=4\n'
refused 2 "no workload 'a1'" 'workload\na1\n'
refused 2 "no workload" 'workload,dtype\n,f32\n'
refused 3 "--dtype takes one of f32, bf16, f16, f64, not 'f33'" 'workload,dtype\na0,f32\na0,f32 f33\n'
refused 2 "--mode takes one of fwd, bwd, train, not 'up'" 'workload,mode\na0,up\n'
refused 2 "--precision takes one of" 'workload,precision\na0,half\n'
refused 2 "a device is cpu, cuda or cuda:N, not 'gpu'" 'workload,device\na0,gpu\n'
refused 2 "workloads/a0.py has no axis 'dims'" 'workload,axes\na0,dims=4\n'
refused 2 "axis 'dim' of workloads/a0.py is an int, and 'x' is not" 'workload,axes\na0,"dim=4,x"\n'
printf 'workload\n# a0\n' >"$TMP/suite.csv"
SUITE=$TMP/suite.csv nightly
expect 2 'has no case'
SUITE=$TMP/none.csv nightly
expect 2 'cannot read'

# Interrupted: it stops, says so by its exit status, leaves the lock, and the next call does the rest of that night.
touch "$TMP/slow"
rm -rf "$TMP/results" "$TMP/calls"
WARPSMITH=$TMP/warpsmith RESULTS=$TMP/results "$nightly" a0 wait0 c1 >"$TMP/said" 2>&1 &
night=$!
while ! [ -e "$TMP/waits" ] && kill -0 $night; do sleep 0.05; done
KEEP=1 nightly a0
expect 3 'another night runs'
kill -TERM $night
code=0
wait $night || code=$?
if [ $code != 143 ]; then fail "interrupted: exit $code" "$(cat "$TMP/said")"; fi
rm "$TMP/slow"
name=$(sed -n 1p "$TMP/results/nightly/unfinished")
KEEP=1 nightly a0 wait0 c1
expect 1 "night $name goes on"
calls 0 '^bench workloads/a0'
calls 1 "^bench workloads/wait0.* $name.1$"
calls 1 '^bench workloads/c1'

# Over the limit.
touch "$TMP/slow"
LIMIT=1 nightly wait0 a0
expect 124 'over the limit'
calls 0 '^bench workloads/a0'

code=0
said=$(WARPSMITH=$TMP/none RESULTS=$TMP/results "$nightly" 2>&1) || code=$?
expect 3 'run make first'

exit $((failures > 0))
