#!/usr/bin/env bash
# All that the reports say of the rows of tests/golden/reports/rows.py: pages, what gnuplot is given, comparisons, nights,
# merged and imported rows, as tests/golden/reports/NAME.txt have it.
#
#   UPDATE=1 make run-report_texts      writes the files anew: read the diff, it must be what you meant
set -euo pipefail
golden=$PWD/tests/golden/reports
. tests/golden/check.sh
python3 "$golden/rows.py" "$TMP/rows"
cd "$TMP/rows"

# A figure is its own settings and data, and a stub of an SVG.
mkdir -p "$TMP/bin"
cat >"$TMP/bin/gnuplot" <<'END'
#!/bin/sh
sed -n "s/.*; out = '\(.*\)'$/\1/p" "$2" | while read -r out; do
    echo '<svg viewBox="0 0 9 9"><rect x="0" y="0" fill="#ffffff"/><path id="p"/></svg>' >"$out"
done
END
chmod +x "$TMP/bin/gnuplot"
PATH=$TMP/bin:$PATH

# say ARGUMENTS: what the command says, and its exit code.
say() {
    local code=0
    echo "\$ warpsmith $*"
    "$WARPSMITH" "$@" 2>&1 | sed "s|$TMP|TMP|g" || code=${PIPESTATUS[0]}
    echo "exit code $code"
    echo
}

# show FILE...: with its name above it; tags of a page begin lines, and what all pages share is left out.
show() {
    for file; do
        echo "==== ${file#"$TMP"/}"
        case $file in
        *.html) sed -e '/<style>/,/<\/style>/d' -e '/<script>/,/<\/script>/d' "$file" |
            sed -e 's/<\(tr\|td\|th\|section\|details\|p\|h[1-6]\|svg\|figure\|a \|option\|label\)/\n<\1/g' | sed '/^$/d' ;;
        *.gp) sed '/^# ---- style.gp/,$d' "$file" ;;
        *) cat "$file" ;;
        esac
        echo
    done
}

{
    say report --results all
    show all/report/*.html all/report/*.csv all/report/*.md
    say report --results all --out json.html --json
} >"$TMP/pages.txt"
{
    show all/report/figures/*.gp
    for file in all/*.csv; do
        name=$(basename "$file" .csv)
        say report --figure "$file" --out "$name" --run last
        show "$name.gp"
    done
    say report --figure all/odd.csv --out first --run 20260901T020000Z-1
    show first.gp
    say report --figure all/odd.csv --out none --run nobody
    # Where all are as fast as each other, unfused kernels' bar is the highest.
    python3 -c 'import csv, sys
rows = list(csv.DictReader(open("all/norm.csv", newline="", encoding="utf-8")))
out = csv.DictWriter(sys.stdout, rows[0].keys(), lineterminator="\n")
out.writeheader()
for row in rows:
    out.writerow({k: "5" if k.endswith("_us") and v else v for k, v in row.items()})' >alike.csv
    say report --figure alike.csv --out alike --run last
    show alike.gp
} >"$TMP/figures.txt"
{
    for sides in all/softmax.csv:other/softmax.csv all:other all/softmax.csv:all/h100.csv other/softmax.csv@prev:other/softmax.csv@last \
        night@20260911:night@20260912 night@prev:night@last night/night4.csv:night@all all/odd.csv:all/norm.csv all/schema1.csv:all/schema8.csv; do
        say compare "${sides%:*}" "${sides#*:}"
    done
    say compare all/softmax.csv other/softmax.csv --markdown
    say compare all/softmax.csv other/softmax.csv --json
    say compare night@20260911 night@20260912 --threshold 0.2
    say compare --base night/night1.csv --base night/night2.csv --new night/night12.csv
} >"$TMP/compare.txt"
{
    say nightly judge --results night
    show night/nightly/*.md night/nightly/*.csv
    say report --results night
    show night/report/figures/index-*.gp
    say nightly judge --results night --threshold 0.5
    say nightly accept jump --results night
    say nightly accept nobody --results night
    say nightly accept --results night
    say nightly judge --results night
    show night/nightly/*
} >"$TMP/nights.txt"
{
    say merge all/softmax.csv other --results merged
    say merge all/softmax.csv other --results merged
    say merge clash --results merged
    printf 'benchmark,mean (ns),gpu,when\nspmv,1500,V100,2026-09-01T02:00:00Z\n"a, ""b""",250.5,V100,1788220800\n,7,V100,2026-09-01\nlate,x,V100,2026-09-01\nlate,5,V100,yesterday\n' >theirs.csv
    printf 'workload = benchmark\nmedian_us = mean (ns) * 0.001\ndevice = gpu\nmode = "fwd"\ndtype = "f32"\nrole = "tuned"\ntimestamp = when\nkernel = "program"\nstatus = "ok"\n' >theirs.map
    say history import theirs.csv --map theirs.map --results imported
    say history import all/schema1.csv --results imported
    say history import all/schema1.csv --results imported
    echo 'nothing = x' >wrong.map
    say history import theirs.csv --map wrong.map --results imported
    show $(find merged imported -type f -name '*.csv' | LC_ALL=C sort)
} >"$TMP/merged.txt"
check_texts pages figures compare nights merged
