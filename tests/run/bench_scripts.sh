#!/usr/bin/env bash
# The scripts that measure and tabulate, with a made-up warpsmith: scripts/bench_device.sh, bench_repeat.sh,
# bench_search.sh, bench_overlap.sh, bench_sizes.sh, suite_table.py, program_table.py and readme_tables.sh.
set -euo pipefail

failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

# run COMMAND...: sets status and said.
run() {
    status=0
    said=$("$@" 2>&1) || status=$?
}
expect() { [ "$status" = "$1" ] || fail "$2: exit status $status, expected $1" "$said"; }
says() { grep -qE -- "$1" <<<"$said" || fail "expected /$1/ in:" "$said"; }
says_not() { ! grep -qE -- "$1" <<<"$said" || fail "did not expect /$1/ in:" "$said"; }

# ---- result files ----------------------------------------------------------------------------------------------------

columns=$(sed -n 's/^COLUMN([A-Z]*, \([a-z0-9_]*\)).*/\1/p' reports/columns.def | paste -sd,)

# row FILE NAME=VALUE...: one row of a result file.
row() {
    [ -s "$1" ] || echo "$columns" >"$1"
    python3 - "$columns" "${@:2}" >>"$1" <<'END'
import csv, sys

given = {"schema": 3, "device": "X1", "arch": "sm_00", "timer": "cupti", "mode": "fwd", "dtype": "f32", "kernel": "program",
         "status": "ok", "timestamp": "2026-01-02T03:04:05Z", "toolchain": "cc", "axes": "dim=4"}
given.update(word.split("=", 1) for word in sys.argv[2:])
csv.writer(sys.stdout, lineterminator="\n").writerow([given.get(name, "") for name in sys.argv[1].split(",")])
END
}

# ---- suite_table.py --least: the least time of several rows, over the best bandwidth that any of them met -------------------

echo 'a softmax f32 fwd dim=4' >"$TMP/cases"
row "$TMP/suite_rows.csv" workload=softmax role=tuned median_us=30 min_us=20 bytes=1000000 gbps=33.33 roof_pct=33.33
row "$TMP/suite_rows.csv" workload=softmax role=tuned median_us=25 min_us=12 bytes=1000000 gbps=40 roof_pct=80
row "$TMP/suite_rows.csv" workload=softmax role=torch_compile config=default median_us=26 min_us=24
row "$TMP/suite_rows.csv" workload=softmax role=default median_us=27 min_us=15
run python3 scripts/suite_table.py --least --out "$TMP" "$TMP/cases" "$TMP/suite_rows.csv"
expect 0 'suite_table --least'
says '^a +10\.00 +- +15\.00 +12\.00 +83\.3 +- +24\.00 +- +2\.000x'
says '^torch.compile over tuned, geometric mean: 2\.000$' && says_not '^max-autotune over'
says '^default over tuned, median: 1\.250$'
run python3 scripts/suite_table.py --out "$TMP" "$TMP/cases" "$TMP/suite_rows.csv"
says '^a +20\.00 +- +27\.00 +25\.00 +80\.0 +- +26\.00 +- +1\.040x'

# --earlier: PyTorch's times out of an older table of the same device, where no row has them.
printf '%s\n' 'case,workload,mode,dtype,axes,device,torch,timestamp,torch_eager_us,torch_compile_us,torch_max_autotune_us' \
    'a,softmax,fwd,f32,dim=4,X1,torch 9,2025-05-05T05:05:05Z,50,40,35' \
    'a,softmax,fwd,f32,dim=4,X2,torch 9,2025-06-06T06:06:06Z,1,1,1' >"$TMP/earlier.csv"
run python3 scripts/suite_table.py --earlier "$TMP/earlier.csv" --out "$TMP" "$TMP/cases" "$TMP/suite_rows.csv"
says '^a +20\.00 +- +27\.00 +25\.00 +80\.0 +50\.00 +26\.00 +35\.00 +1\.040x'
run python3 scripts/suite_table.py --earlier "$TMP/earlier.csv" --has-torch a "$TMP/cases" "$TMP/suite_rows.csv"
expect 0 '--has-torch with --earlier'
run python3 scripts/suite_table.py --has-torch a "$TMP/cases" "$TMP/suite_rows.csv"
expect 1 '--has-torch without'
run python3 scripts/suite_table.py --has-torch a --ways compile "$TMP/cases" "$TMP/suite_rows.csv"
expect 0 '--has-torch of one way'

# Large cases below 92 % of the roof, and what was counted of the kernel that takes longest, at its fastest.
mkdir "$TMP/why"
row "$TMP/large.csv" workload=softmax role=tuned median_us=20 bytes=70000000 roof_pct=85
for words in 'kernel=k config=a median_us=9 occupancy=0.1' 'kernel=k config=b median_us=8 occupancy=0.2 dram_bytes=84000000' \
    'kernel=short config=c median_us=1 occupancy=0.3'; do
    # shellcheck disable=SC2086
    row "$TMP/why/softmax.csv" workload=softmax role=variant counters=cupti bytes=70000000 pipe=xu pipe_pct=40 stall=wait \
        stall_pct=30 $words
done
run python3 scripts/suite_table.py --misses "$TMP/cases" "$TMP/large.csv"
expect 0 'suite_table --misses' && says '^a$'
run python3 scripts/suite_table.py --misses "$TMP/cases" "$TMP/suite_rows.csv"
says_not '^a$'
run python3 scripts/suite_table.py --out "$TMP" --counted "$TMP/why" "$TMP/cases" "$TMP/large.csv"
says '^large cases .*: 0 of 1$'
grep -q '^a,X1,2026-01-02T03:04:05Z,70.0,85,k,b,8,70000000,84000000,0.2,,,xu,40,wait,30$' "$TMP/misses.csv" ||
    fail "misses.csv:" "$(cat "$TMP/misses.csv")"
mv "$TMP/misses.csv" "$TMP/missed.csv"

# Whose roof is not known is no large case, and has a line all the same.
row "$TMP/roofless.csv" workload=softmax role=tuned median_us=20 bytes=70000000
run python3 scripts/suite_table.py --out "$TMP" "$TMP/cases" "$TMP/roofless.csv"
expect 0 'suite_table of a case without a roof' && says '^a +- +- +- +20\.00 +- ' && says '^large cases .*: 0 of 0$'
run python3 scripts/suite_table.py --markdown "$TMP/suite.csv"
expect 0 'its --markdown' && says '^\| a \| 70\.0 \| - \| 20\.00 \| - \| - \|'

# Without --counted nothing is read but what is named; what is no result file is reported.
(cd "$TMP" && python3 "$OLDPWD/scripts/suite_table.py" --out . cases large.csv >/dev/null) ||
    fail 'suite_table --out beside a foreign file'
echo 'a,b' >"$TMP/why/foreign.csv"
run python3 scripts/suite_table.py --out "$TMP" --counted "$TMP/why" "$TMP/cases" "$TMP/large.csv"
expect 1 'suite_table --counted, a foreign file' && says '^suite_table: .*foreign.csv is no result file$'

# ---- program_table.py --------------------------------------------------------------------------------------------------

csv=$TMP/one.csv
row "$csv" workload=one role=eager median_us=40
row "$csv" workload=one role=default median_us=20
row "$csv" workload=one role=tuned median_us=16 roof_pct=50
row "$csv" workload=one role=tuned median_us=10 roof_pct=80
row "$csv" workload=one role=variant median_us=1 kernel=k
row "$csv" workload=one role=torch_eager median_us=30
row "$csv" workload=one role=torch_compile median_us=25 config=default
row "$csv" workload=one role=torch_compile median_us=5 config=max-autotune-no-cudagraphs status=wrong

# The newest tuned row, PyTorch's best right one.
run scripts/program_table.py "$csv"
expect 0 "a table"
says '^one +f32 +dim=4 +40\.00 +20\.00 +10\.00 +80\.0 +25\.00 default +2\.50x$'
run scripts/program_table.py --field roof_pct "$csv"
[ "$said" = 80 ] || fail "--field: $said"

run scripts/program_table.py "$TMP/absent.csv"
expect 1 "no such file"
echo 'a,b' >"$TMP/foreign.csv"
run scripts/program_table.py "$TMP/foreign.csv"
expect 1 "a foreign file"
says 'is no result file'
echo "$columns" >"$TMP/empty.csv"
run scripts/program_table.py "$TMP/empty.csv"
expect 1 "no rows"
says 'no program was timed'

# ---- bench_device.sh ---------------------------------------------------------------------------------------------------

# It knows softmax; the second call is faster; layernorm fails.
row "$TMP/rows.csv" workload=softmax role=tuned median_us=7 'axes=dim=4096 rows=4096'
sed -i 1d "$TMP/rows.csv"
cat >"$TMP/warpsmith" <<END
#!/usr/bin/env bash
[ "\$1" = bench ] || exit 2
case \$2 in *layernorm*) echo 'device X1'; echo 'warpsmith bench: made-up failure' >&2; echo after; exit 1 ;; esac
while [ \$# -gt 0 ]; do
    [ "\$1" != --results ] || results=\$2
    shift
done
file=\$results/softmax.csv
[ -s "\$file" ] || echo '$columns' >"\$file"
cat '$TMP/rows.csv' >>"\$file"
END
chmod +x "$TMP/warpsmith"
export WARPSMITH=$TMP/warpsmith OUTDIR=$TMP/out

PARTS='bench cache' ONLY='^(softmax|layernorm) ' run scripts/bench_device.sh
expect 1 "one of two workloads fails"
says '^bench softmax f32 '
says '^bench softmax bf16 '
says '^cache softmax bf16 '
says '^softmax +f32 +dim=4096 rows=4096 +7\.00 +[0-9.]+$'
says '^2 failed:'
says 'bench layernorm bf16: exit 1: warpsmith bench: made-up failure'
[ "$(grep -c ',0$' "$OUTDIR/runs.csv")" = 4 ] || fail "runs.csv:" "$(cat "$OUTDIR/runs.csv")"

PARTS=big ONLY='^softmax f32' run scripts/bench_device.sh
expect 0 "all fine"
says_not failed
grep -q '^big,softmax,f32,rows=256 dim=131072,' "$OUTDIR/runs.csv" || fail "runs.csv:" "$(cat "$OUTDIR/runs.csv")"

PARTS=bench ONLY='^layernorm ' run scripts/bench_device.sh
expect 3 "nothing worked"
PARTS=bench ONLY='^softmax ' TOTAL=0 run scripts/bench_device.sh
says 'not started, 0 s are over'
PARTS=all run scripts/bench_device.sh
expect 2 "no such part"
run scripts/bench_device.sh softmax
expect 2 "an argument"
WARPSMITH=$TMP/absent run scripts/bench_device.sh
expect 3 "no binary"

# ---- readme_tables.sh --------------------------------------------------------------------------------------------------

project=$TMP/project
mkdir -p "$project/scripts" "$project/compiler" "$project/reports/samples/x1"
cp scripts/readme_tables.sh scripts/*.py "$project/scripts/"
cp "$csv" "$project/reports/samples/x1/"
echo 'measure,value,unit,limit,command,device,date
"a, b",3,s,<=4,do it,X1,2026-01-02' | tee "$project/reports/samples/cost_x.csv" |
    sed 's/do it/trace it/' >"$project/reports/samples/capture_x.csv"
: >"$project/compiler/README.md"
tables=$project/scripts/readme_tables.sh
text='# Title
<!-- begin programs -->
stale
<!-- end -->
between
<!-- begin cost -->
<!-- end -->
<!-- begin capture -->
<!-- end -->
last'
printf '%s\n' "$text" >"$project/README.md"

run "$tables" --check
expect 1 "stale"
says 'README.md is out of date'
run "$tables"
expect 0 "write"
said=$(cat "$project/README.md")
says '^\| one \| f32 \| dim=4 \| 40\.00 \|'
says '2026-01-02, timer cupti'
says "^\\| a, b \\| 3 s \\| at most 4 \\| .do it. \\|\$"
says "^\\| a, b \\| 3 s \\| at most 4 \\| .trace it. \\|\$"
says '^.scripts/bench_capture\.sh. on X1, 2026-01-02;'
says '^between$'
says '^last$'
says_not '^stale$'
run "$tables" --check
expect 0 "up to date"
rm "$project/reports/samples/capture_x.csv"
run "$tables"
expect 0 "nothing measured: an empty table"
grep -q 'trace it' "$project/README.md" && fail "a table without a file was kept"

printf '%s\n' '<!-- begin programs -->' 'kept' >"$project/README.md"
run "$tables"
expect 1 "a block without an end"
grep -q '^kept$' "$project/README.md" || fail "a file that could not be filled was changed"
printf '%s\n' '<!-- begin nonsense -->' '<!-- end -->' >"$project/README.md"
run "$tables"
expect 1 "an unknown kind"
says "no kind of block is called 'nonsense'"

# ---- sample_tables.py ----------------------------------------------------------------------------------------------------

printf '%s\n' workload,dtype,device,date,mbytes,tuned_us,roof_pct relu,f32,X1,2026-01-02,50.0,10,70 \
    relu,f32,X1,2026-01-02,100.0,20,80 full_sum,f32,X1,2026-01-02,100.0,30,60 >"$TMP/sizes.csv"
run scripts/sample_tables.py sizes "$TMP/sizes.csv"
expect 0 "sizes"
says '^\| 50 \| 10 \| 70 \| - \| - \|$'
says '^\| 100 \| 20 \| 80 \| 30 \| 60 \|$'
says 'bench_sizes.sh. in f32 on X1, 2026-01-02; rows in'
run scripts/sample_tables.py misses "$TMP/missed.csv" "$TMP/sizes.csv"
expect 0 "misses"
says '^\| a \| 70\.0 \| 85\.0 \| 74\.0 \| 1\.20 \| 0\.20 \| - \| xu 40 \| wait 30 \| `b` \|$'
counted=workload,mode,dtype,precision,axes,kernel,config,median_us,roof_pct,bytes,dram_bytes,l2_hit_pct,occupancy
counted+=,issue_pct,pipe,pipe_pct,stall,stall_pct,counters,device,timestamp
printf '%s\n' $counted mm,fwd,bf16,f32,n=1,k,slow,9,50,10,15,40,0.25,30,tensor,60,wait,20,cupti,X1,2026-01-02T03 \
    mm,fwd,bf16,f32,n=1,k,fast,8,55,10,12,40,0.25,30,tensor,70,wait,20,cupti,X1,2026-01-02T03 \
    mm,fwd,bf16,f32,n=1,k,uncounted,7,,10,,,,,,,,,,X1,2026-01-02T03 >"$TMP/counted.csv"
run scripts/sample_tables.py counted "$TMP/counted.csv"
expect 0 "counted"
says '^\| mm n=1 \| bf16 \| 8\.0 \| 55\.0 \| 1\.20 \| 40 \| 25 \| 30 \| tensor 70 \| wait 20 \| `fast` \|$'
says_not slow
printf '%s\n' workload,dtype,axes,torch_over_ours,device,date matmul,f32,n=1,1.5,X1,2026-01-02 \
    matmul,f32,n=2,0.9,X1,2026-01-02 matmul,bf16,n=3,0.7,X1,2026-01-02 matmul,f32,n=4,0.5,X1,2026-01-02 \
    matmul,f32,n=5,,X1,2026-01-02 >"$TMP/products.csv"
run scripts/sample_tables.py slower "$TMP/products.csv"
expect 0 "slower"
[ "$(sed -n '3,5s/^| matmul n=\([0-9]\) .*/\1/p' <<<"$said" | tr -d '\n')" = 342 ] || fail "slowest last, or another product:" "$said"
says_not 'n=1|n=5'
# A figure says what it was drawn from; one that nobody measured has no caption.
run scripts/sample_tables.py figure reports/samples/suite_h200.svg
expect 0 "figure"
says '^!\[.*\]\(reports/samples/suite_h200\.svg\)$'
says 'Drawn from \[reports/samples/suite_h200\.csv\].* which .* wrote on NVIDIA H200, 20..-..-..\.$'
run scripts/sample_tables.py figure reports/samples/nobody.svg
expect 1 "a figure without a row in index.csv"
run scripts/sample_tables.py repeat "$TMP/sizes.csv"
expect 1 "a foreign file"
says 'sizes.csv is no file of repeat, or empty'
run scripts/sample_tables.py nonsense "$TMP/sizes.csv"
expect 2 "an unknown kind"
run scripts/sample_tables.py --help
expect 0 "sample_tables.py --help"

# ---- bench_repeat.sh and bench_search.sh -----------------------------------------------------------------------------

# A bench whose times go up by 1 % a run, and whose third run chooses another config; a compare that flags one pair.
cat >"$TMP/warpsmith" <<END
#!/usr/bin/env bash
if [ "\$1" = compare ]; then
    case "\$*" in *@r1*@r3*) echo 'softmax SLOWER'; exit 4 ;; esac
    exit 0
fi
while [ \$# -gt 0 ]; do
    [ "\$1" = --results ] && dir=\$2
    [ "\$1" = --compare-searches ] && searches=1
    shift
done
mkdir -p "\$dir"
n=\$((\$(cat "$TMP/n" 2>/dev/null || echo 0) + 1))
echo \$n >"$TMP/n"
csv=\$dir/softmax.csv
[ -s "\$csv" ] || echo 'workload,run_id,config,role,median_us,ci_us,tuning_s,trials' >"\$csv"
echo "softmax,r\$n,,default,20,0.1,," >>"\$csv"
echo "softmax,r\$n,x=\$((n / 3)),tuned,\$((99 + n)),0.1,0.5,12" >>"\$csv"
[ -z "\${searches-}" ] || printf '%s\n' 'strategy,near_trials,near_s,all_s,found_us,best_us' model,3,0.1,0.4,10,10 \
    random,,,0.6,11,10 >"\$dir/searches.csv"
END
chmod +x "$TMP/warpsmith"
export WARPSMITH=$TMP/warpsmith OUTDIR=$TMP/repeat
RUNS=3 WORKLOADS=softmax run scripts/bench_repeat.sh
expect 0 "repeat"
says '^softmax +3 +101\.00 +2\.00% +2\.00% +2 +1 of 3$'
[ "$(sed -n 2p "$OUTDIR/repeat.csv")" = softmax,r1,x=0,100,0.1,20,0.5 ] || fail "repeat.csv:" "$(cat "$OUTDIR/repeat.csv")"
OUTDIR=$TMP/search ONLY='^softmax rows=1024' run scripts/bench_search.sh
expect 0 "search"
says '^model +1 +3 +3 +0\.10 +0\.0% +1\.000 +0\.40$'
says '^random +1 +9999 +never .* 100\.0% +1\.100'
says 'tuning took 0\.50 s at the median, .* 12\.0 trials'

# ---- bench_overlap.sh ------------------------------------------------------------------------------------------------

# Layernorm has two kernels and takes 12 us for 10 where launches do not overlap, 11 as a graph, softmax one; rope fails.
cat >"$TMP/warpsmith" <<END
#!/usr/bin/env bash
case \$2 in *rope*) echo 'warpsmith bench: made-up failure'; exit 1 ;; esac
name=\$(basename -s .py "\$2")
while [ \$# -gt 0 ]; do
    [ "\$1" = --results ] && dir=\$2
    shift
done
[ \$name = layernorm ] && echo 'graph 0: 4 kernels one per operation, 2 fused' || echo 'graph 0: 4 kernels one per operation, 1 fused'
[ -s "\$dir/\$name.csv" ] || echo 'workload,mode,dtype,role,median_us,span_us,host_us,device,timestamp' >"\$dir/\$name.csv"
us=10 host=6
[ "\$WARPSMITH_OVERLAP" != 0 ] || us=12
[ "\$WARPSMITH_GRAPH" != 1 ] || us=11 host=4
echo "\$name,fwd,bf16,default,9,\$us,\$host,X1,2026-01-02T03:04:05Z" >>"\$dir/\$name.csv"
END
OUTDIR=$TMP/overlap WORKLOADS='softmax layernorm' MODES=fwd run scripts/bench_overlap.sh
expect 0 "overlap"
says '^layernorm fwd bf16 +2 +12\.00 +10\.00 +20\.00% +11\.00 +6\.00 +4\.00$'
says_not softmax
[ "$(sed -n 2p "$TMP/overlap/overlap.csv")" = layernorm,fwd,bf16,X1,2026-01-02,2,12.000,10.000,20.00,11.000,6.00,4.00 ] ||
    fail "overlap.csv:" "$(cat "$TMP/overlap/overlap.csv")"
OUTDIR=$TMP/overlap WORKLOADS='rope layernorm' MODES=fwd run scripts/bench_overlap.sh
expect 1 "one of two programs fails"
says '^failed: rope fwd bf16: warpsmith bench: made-up failure$'
says '^layernorm '

# ---- bench_sizes.sh ----------------------------------------------------------------------------------------------------

# Every size takes 10 us; full_sum fails.
cat >"$TMP/warpsmith" <<'END'
#!/usr/bin/env bash
case $2 in *full_sum*) echo 'warpsmith bench: made-up failure'; exit 1 ;; esac
while [ $# -gt 0 ]; do
    [ "$1" = --results ] && dir=$2
    [ "$1" = -D ] && sizes=${2#n=}
    shift
done
echo 'workload,dtype,device,timestamp,git_rev,role,status,bytes,median_us,roof_pct' >"$dir/relu.csv"
for n in ${sizes//,/ }; do echo "relu,f32,X1,2026-01-02T03:04:05Z,abc,tuned,ok,$((8 * n)),10,50" >>"$dir/relu.csv"; done
END
OUTDIR=$TMP/sizes SIZES='4 64' run scripts/bench_sizes.sh
expect 1 "one of two workloads fails"
says '^failed: full_sum: warpsmith bench: made-up failure$'
says '^relu +f32 +4\.0 +5\.00 +10\.00 +50\.0$'
says '^relu +f32 +64\.0 +5\.00'
DTYPE=i8 run scripts/bench_sizes.sh
expect 2 "no such dtype"
SIZES='4 x' run scripts/bench_sizes.sh
expect 2 "no such size" && says "^bench_sizes: SIZES is whole megabytes, such as '4 64', not '4 x'\$"
printf '#!/bin/sh\nexit 3\n' >"$TMP/warpsmith"
OUTDIR=$TMP/sizes run scripts/bench_sizes.sh
expect 1 "nothing was timed" && says_not Traceback

for script in bench_repeat bench_search bench_overlap bench_sizes; do
    run "scripts/$script.sh" --help
    expect 0 "$script --help"
    says "OUTDIR=out scripts/$script.sh"
    run "scripts/$script.sh" --nonsense
    expect 2 "$script with an argument"
done

# ---- bench_places.py -------------------------------------------------------------------------------------------------

run scripts/bench_places.py --out "$TMP/places.csv" --places 1
expect 2 "one place" && says '2 or more'
run scripts/bench_places.py --out "$TMP/places.csv"
expect 3 "places without a GPU" && [ ! -e "$TMP/places.csv" ] || fail "bench_places.py wrote a file"
printf '%s\n' device,date,torch,elements,places,samples,least_us,q1_us,median_us,q3_us,most_us \
    X9,2026-01-02,2.0,256,64,21,0.900,0.960,1.024,1.056,1.200 >"$TMP/places.csv"
run scripts/sample_tables.py places "$TMP/places.csv"
expect 0 "a table of places" && says '| 256 | 64 | 0.90 | 0.96 | 1.02 | 1.06 | 1.20 |'

[ $failures = 0 ]
