#!/usr/bin/env bash
# scripts/nightly.sh with a command that we make up: what it calls, that it goes on, and the worst exit code.
set -euo pipefail

failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

# `bench` leaves a row unless its workload is called mute, and exits with the number in its workload's name; `compare`
# exits with $COMPARE. Both write down how they were called.
cat >"$TMP/warpsmith" <<'END'
#!/usr/bin/env bash
echo "$*" >>"$TMP/calls"
if [ "$1" = compare ]; then exit "${COMPARE:-0}"; fi
workload=$(basename "$2" .py)
while [ "$1" != --results ]; do shift; done
case $workload in mute*) ;; *) echo row >>"$2/$workload.csv" ;; esac
code=${workload//[^0-9]/}
exit "${code:-0}"
END
chmod +x "$TMP/warpsmith"

# nightly WORKLOAD...: its exit code in $code, its output in $said, its calls in $TMP/calls.
nightly() {
    rm -rf "$TMP/calls" "$TMP/results"
    code=0
    said=$(WARPSMITH=$TMP/warpsmith RESULTS=$TMP/results scripts/nightly.sh "$@" 2>&1) || code=$?
}

# expect CODE TEXT: the last call of nightly exited so and said so.
expect() {
    if [ "$code" != "$1" ]; then fail "exit $code, expected $1:" "$said"; fi
    if [[ $said != *"$2"* ]]; then fail "did not say '$2':" "$said"; fi
}

COMPARE=0 nightly a0
expect 0 'same or faster'
COMPARE=2 nightly a0 # nothing to compare with yet
expect 0 'first run'
COMPARE=5 nightly a0
expect 5 'too noisy'
COMPARE=4 nightly a0
expect 4 'SLOWER'
COMPARE=1 nightly a0
expect 1 'WRONG'

export COMPARE=4
nightly a0 b3 c1 # a failing workload does not stop the next; 3 is worse than 1, 1 worse than 4
expect 3 'bench: MACHINE CANNOT'
if [ "$(grep -c '^bench' "$TMP/calls")" != 3 ]; then fail 'not every workload was benched'; fi
nightly a0 c1
expect 1 'bench: WRONG'
nightly a139
expect 1 'FAILED (exit 139)'
COMPARE=0 nightly mute0
expect 1 'appended no rows'
if grep -q '^compare' "$TMP/calls"; then fail 'compared although there is no new row'; fi

DEVICE=cuda:1 DTYPE=bf16 MODE=train THRESHOLD=0.05 nightly a0
results=$TMP/results
if ! grep -qx "bench workloads/a0.py --device cuda:1 --dtype bf16 --mode train --results $results" "$TMP/calls"; then
    fail 'bench was called with:' "$(cat "$TMP/calls")"
fi
if ! grep -qx "compare --base $results/a0.csv@prev --new $results/a0.csv@last --threshold 0.05" "$TMP/calls"; then
    fail 'compare was called with:' "$(cat "$TMP/calls")"
fi

# Without names: all of workloads/.
nightly
if [ "$(grep -c '^bench' "$TMP/calls")" != "$(find workloads -maxdepth 1 -name '*.py' | wc -l)" ]; then
    fail 'did not bench all of workloads/'
fi

code=0
said=$(WARPSMITH=$TMP/none RESULTS=$TMP/results scripts/nightly.sh 2>&1) || code=$?
expect 3 'run make first'

exit $((failures > 0))
