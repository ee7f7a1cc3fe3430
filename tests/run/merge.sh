#!/usr/bin/env bash
# warpsmith merge: nothing lost, nothing twice, conflicts said and nothing written then, whatever is killed; stores.
set -uo pipefail

failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

# merge RC "TEXT" ARGUMENTS...
merge() {
    local want=$1 text=$2 rc=0
    shift 2
    said=$("$WARPSMITH" merge "$@" 2>&1) || rc=$?
    if [ "$rc" != "$want" ] || [[ $said != *"$text"* ]]; then
        fail "merge $*: exit $rc, expected $want and '$text' in:" "$said"
    fi
}

# rows FILE KEY...: a result file; KEY is RUN:CONFIG:MICROSECONDS
cat >"$TMP/rows.py" <<'PY'
import csv, re, sys
root = sys.argv[1]
columns = re.findall(r'^COLUMN\(\w+, (\w+)\)', open(root + '/reports/columns.def').read(), re.M)
schema = max(int(n) for n in re.findall(r'^SCHEMA\((\d+),', open(root + '/reports/columns.def').read(), re.M))
with open(sys.argv[2], 'w') as f:
    out = csv.writer(f, lineterminator='\n')
    out.writerow(columns)
    for key in sys.argv[3:]:
        run, config, us = key.split(':')
        row = dict(schema=schema, run_id=run, host='h', workload='softmax', mode='fwd', kernel='k', config=config,
                   status='ok', role='variant', is_winner=0, n=9, median_us=us)
        out.writerow([row.get(c, '') for c in columns])
PY
rows() {
    mkdir -p "$(dirname "$1")"
    python3 "$TMP/rows.py" . "$@"
}
# is FILE KEY...: these rows, in any order
is() {
    local file=$1
    shift
    rows "$TMP/expected.csv" "$@"
    cmp -s <(sort "$file") <(sort "$TMP/expected.csv") || fail "$file is not $*:" "$(cut -d, -f2,18,23 "$file" 2>&1)"
}

a=$TMP/a b=$TMP/b out=$TMP/out
rows "$a/softmax.csv" '1:x=1, r=2:3' 1:y:4
rows "$a/layernorm.csv" 1:x:3
rows "$b/softmax.csv" 2:x:5 2:x:5 1:y:4
printf 'search,trials\nmodel,3\n' >"$b/searches.csv"

# Files meet by name; a row of several files is one, two of one file are two; a second time nothing is new.
merge 0 '5 rows new' "$a" "$b" --results "$out"
[[ $said == *"searches.csv' is no result file"* ]] || fail "does not say what it leaves out: $said"
is "$out/softmax.csv" '1:x=1, r=2:3' 1:y:4 2:x:5 2:x:5
is "$out/layernorm.csv" 1:x:3
[ "$(ls "$out")" = $'layernorm.csv\nsoftmax.csv' ] || fail "$(ls "$out")"
cp "$out/softmax.csv" "$TMP/before"
merge 0 '0 rows new' "$b" "$a/softmax.csv" "$out" --results "$out"
cmp -s "$out/softmax.csv" "$TMP/before" || fail 'merging a second time changed the file'
rows "$TMP/c/softmax.csv" 3:x:5
merge 0 '1 row new' "$TMP/c" --results "$out"
cmp -s <(head -c "$(wc -c <"$TMP/before")" "$out/softmax.csv") "$TMP/before" || fail 'what was there has changed'

# A file that has more of a measurement is the whole of it; other numbers are a conflict, and then nothing is written.
rows "$TMP/more/softmax.csv" 1:y:4 1:y:4.5
merge 0 '1 row new' "$TMP/more" --results "$out"
rows "$TMP/other/softmax.csv" 1:y:7 9:z:1
rows "$TMP/other/adam.csv" 9:z:1
cp -r "$out" "$TMP/kept"
merge 1 "$out/softmax.csv' line 3 and '$TMP/other/softmax.csv' line 2: one measurement, other numbers" "$TMP/other" --results "$out"
[[ $said == *'1 conflict: nothing was merged'* ]] || fail "$said"
diff -r "$out" "$TMP/kept" || fail 'a conflict has changed the folder'

# Foreign, half-written, older.
merge 1 'is not a result file' "$b/searches.csv" --results "$out"
merge 2 'No such file' "$TMP/none" --results "$out"
merge 2 'which SHARD' --results "$out"
cut -d, -f1-17 "$a/layernorm.csv" >"$TMP/layernorm.csv"
merge 1 'is not a result file' "$TMP/layernorm.csv" --results "$out"
diff -r "$out" "$TMP/kept" || fail 'a wrong call has changed the folder'
rows "$TMP/half/softmax.csv" 5:x:5 6:x:6
truncate -s -9 "$TMP/half/softmax.csv"
merge 0 'half-written last row ignored' "$TMP/half" --results "$TMP/halves"
is "$TMP/halves/softmax.csv" 5:x:5
printf '9,tor' >>"$TMP/halves/softmax.csv"
merge 0 "moved to '$TMP/halves/softmax.csv.damaged'" "$TMP/c" --results "$TMP/halves"
is "$TMP/halves/softmax.csv" 5:x:5 3:x:5
sed -n 's/^SCHEMA([0-9]*, \(.*\))/\1/p' reports/columns.def | tail -2 | head -1 >"$TMP/last"
python3 - "$TMP/c/softmax.csv" "$TMP/older.csv" "$(cat "$TMP/last")" <<'PY'
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
n = rows[0].index(sys.argv[3]) + 1
csv.writer(open(sys.argv[2], 'w'), lineterminator='\n').writerows(
    [rows[0][:n]] + [[str(int(r[0]) - 1)] + r[1:n] for r in rows[1:]])
PY
mkdir "$TMP/older" && mv "$TMP/older.csv" "$TMP/older/softmax.csv"
merge 1 'merge files of one schema' "$TMP/older" --results "$out"

# What a killed merge leaves is removed; a full disk (here: a limit on files) leaves all as it was.
cp "$a/softmax.csv" "$out/softmax.csv.part-1"
rm -rf "$TMP/kept" && cp -r "$out" "$TMP/kept" && rm "$TMP/kept/softmax.csv.part-1"
rows "$TMP/big/softmax.csv" $(seq -f '8:%g:1' 3000)
(ulimit -f 64 && merge 3 'nothing was merged' "$TMP/big" --results "$out" && exit $failures) || failures=$((failures + 1))
diff -r "$out" "$TMP/kept" || fail 'a full disk has changed the folder, or a part of a killed merge is still there'

# Merges at once into one folder, and rows that bench would append meanwhile: all are there, once.
for i in 1 2 3 4; do rows "$TMP/many$i/softmax.csv" $(seq -f "m$i:%g:1" 200) $(seq -f 'shared:%g:1' 50); done
for i in 1 2 3 4; do "$WARPSMITH" merge "$TMP/many$i" --results "$TMP/many" >"$TMP/said$i" 2>&1 & done
wait
for i in 1 2 3 4; do # the first file that is made under a name is nobody else's to replace
    "$WARPSMITH" merge "$TMP/many$i" --results "$TMP/many" >>"$TMP/said$i" 2>&1 || fail "$(cat "$TMP/said$i")"
done
is "$TMP/many/softmax.csv" $(for i in 1 2 3 4; do seq -f "m$i:%g:1" 200; done) $(seq -f 'shared:%g:1' 50)

# Killed at any moment: whole files, and the next merge has all.
for wait in 0.002 0.004 0.008 0.012 0.016 0.02 0.03; do
    rm -rf "$TMP/killed"
    "$WARPSMITH" merge "$TMP"/many[1-4] "$TMP/big" --results "$TMP/killed" >/dev/null 2>&1 &
    sleep $wait
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    if [ -e "$TMP/killed/softmax.csv" ]; then
        [ "$(wc -l <"$TMP/killed/softmax.csv")" = 3851 ] || fail "killed after $wait s: a part of the rows"
    fi
    merge 0 '' "$TMP"/many[1-4] "$TMP/big" --results "$TMP/killed"
    [ "$(wc -l <"$TMP/killed/softmax.csv")" = 3851 ] || fail "after a kill: $(wc -l <"$TMP/killed/softmax.csv") lines"
    [ "$(ls "$TMP/killed")" = softmax.csv ] || fail "after a kill: $(ls "$TMP/killed")"
done

# Stores: of a folder, and by name; twice is once; the older winner of two is not taken.
bench() { "$WARPSMITH" bench softmax --device cpu -D rows="$1" -D dim=64 --budget 1t --samples-max 3 --no-figures --results "$TMP/s$2" >"$TMP/said" 2>&1 || fail "$(cat "$TMP/said")"; }
mkdir "$TMP/s1"
WARPSMITH_CACHE=$TMP/s1/store.db bench 16 1
WARPSMITH_CACHE=$TMP/s1/store.db "$WARPSMITH" cache export "$TMP/exported.db" 2>/dev/null
export WARPSMITH_CACHE=$TMP/merged.db
merge 0 'new or newer in' "$TMP/s1" --results "$TMP/stores"
"$WARPSMITH" cache ls 2>/dev/null | grep -q softmax || fail "nothing of the shard's store is there: $("$WARPSMITH" cache ls)"
merge 0 '0 tuned kernels new or newer' "$TMP/exported.db"
merge 2 "cannot read '$TMP/none.db'" "$TMP/none.db" "$a" --results "$TMP/unmade"
[ ! -e "$TMP/unmade" ] || fail 'a wrong call has merged something'
echo nothing >"$TMP/foreign.db"
merge 1 'cannot import' "$TMP/foreign.db"
python3 - "$TMP/exported.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE winners SET config = 'x=9', created = created - 1")
db.commit()
PY
merge 0 '1 kernel has another winner than the store; the newer ones stay' "$TMP/exported.db"
"$WARPSMITH" cache ls 2>/dev/null | grep -q x=9 && fail 'an older winner was taken'

[ "$failures" = 0 ]
