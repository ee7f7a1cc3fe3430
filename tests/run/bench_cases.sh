#!/usr/bin/env bash
# scripts/bench_kernelbench.sh, bench_models.sh and bench_attention.sh with a warpsmith and a PyTorch that are made up: whatever
# one case does, the others are run, it is a line of the table, and a call goes on where one was killed.
set -euo pipefail

failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

# bench SCRIPT [VARIABLE=VALUE...] [-- ARGUMENT...]: sets status and said.
bench() {
    local script=$1 variables=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do variables+=("$1") && shift; done
    [ $# = 0 ] || shift
    status=0
    said=$(env DEVICE=cpu OUTDIR="$OUTDIR" PYTHON=tests/run/torch_stub/timed WARPSMITH="$TMP/warpsmith" \
        ${variables[@]+"${variables[@]}"} "scripts/bench_$script.sh" "$@" 2>&1) || status=$?
}
expect() { [ "$status" = "$1" ] || fail "$2: exit status $status, expected $1" "$said"; }
says() { grep -qE -- "$1" <<<"$said" || fail "expected /$1/ in:" "$said"; }
says_not() { ! grep -qE -- "$1" <<<"$said" || fail "did not expect /$1/ in:" "$said"; }

# Every program takes 250 us, tuned, and 300 as first guessed; files by their names do worse.
cat >"$TMP/warpsmith" <<'END'
#!/usr/bin/env -S python3 -B
import os, pathlib, signal, sys, time
sys.path[:0] = ["scripts", "tests/run/torch_stub"]
import torch_peer as peer
words, file = sys.argv, pathlib.Path(sys.argv[2])
if "hangs" in file.stem:
    time.sleep(100)
if "kills" in file.stem:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(100)
if "crashes" in file.stem:
    os.kill(os.getpid(), signal.SIGSEGV)
if "wrong" in file.stem:
    sys.exit("warpsmith bench: the default program is wrong: out0[3] is 4")
if "refused" in file.stem:
    sys.exit("warpsmith bench: x.py:6: operator made_up is not supported")
of = lambda name: words[words.index(name) + 1]
given = dict(word.split("=") for at, word in zip(words, words[1:]) if at == "-D")
_, axes = peer.load_workload(file, given)
row = {"schema": 9, "timestamp": "2026-01-02T03:04:05Z", "workload": file.stem, "dtype": of("--dtype"), "device": "X1",
       "mode": "eval" if "--eval" in words else of("--mode"), "precision": of("--precision"), "axes": peer.axes_text(axes),
       "kernel": "program", "status": "ok", "flops": 2000000000, "roof_pct": 10, "load_us": 7, "kept_bytes": 250000, "unjudged": 4 if "unjudged" in file.stem else 0}
us = 2000 if "slow" in file.stem else 250
rows = [{**row, "role": "default", "median_us": 1.2 * us},
        {**row, "role": "tuned", "median_us": us, "config": "x=1", "trials": 3},
        {**row, "kernel": "k_0", "role": "variant", "is_winner": 1, "median_us": 100, "config": "x=1"}]
peer.append_rows(pathlib.Path(of("--results")) / f"{file.stem}.csv", peer.result_columns(), rows)
os.makedirs(of("--dump"))
pathlib.Path(of("--dump"), "07_memory_plan.txt").write_text("pool 1500000 bytes\nb1: never in memory\n")
print("graph 0123456789abcdef: 5 kernels unfused, 2 fused")
END
chmod +x "$TMP/warpsmith"

mkdir -p "$TMP/kb/level1" "$TMP/kb/level2" "$TMP/kb/level3"
for name in level1/1_fast level1/2_wrong level1/3_crashes level1/4_refused level1/5_torch_dies level1/10_unjudged \
    level2/1_slow level3/1_kills level3/2_hangs level3/3_torch_hangs level3/4_fast; do
    printf 'import torch\nn = 8\nclass Model(torch.nn.Module):\n    pass\n' >"$TMP/kb/$name.py"
done
echo 'raise RuntimeError("made up")' >"$TMP/kb/level2/2_unloadable.py"
echo 'channels = 4 # nn.Conv2d' >>"$TMP/kb/level2/1_slow.py"

# ---- KernelBench -------------------------------------------------------------------------------------------------------

OUTDIR=$TMP/kernelbench
bench kernelbench LEVELS=1,2 -- "$TMP/kb"
expect 1 "some problems fail"
says '^level1/1_fast f32 f32 eager: ok'
says '^level1/2_wrong f32 f32 ours: wrong .* the default program is wrong: out0\[3\] is 4$'
says '^level1/3_crashes f32 f32 ours: crashed '
says '^level1/4_refused f32 f32 ours: refused .* operator made_up is not supported$'
says '^level1/5_torch_dies f32 f32 eager: crashed exit 7: '
says '^level1/5_torch_dies f32 f32 compile: crashed exit 7: '
says '^level2/2_unloadable f32 f32 (eager|compile): '
says '^level1 f32, TF32 forbidden, over compile: 6 problems, 2 right, 1 with both times$'
says '^  fast_0 0\.33  fast_0\.5 0\.17  fast_1 0\.17  fast_1\.5 0\.17  fast_2 0\.17  fast_3 0\.00$'
says '^level2 f32, TF32 forbidden, over eager: 2 problems, 1 right, 1 with both times$'
says '^  fast_0 0\.50  fast_0\.5 0\.50  fast_1 0\.00 '
says '^slower than the best of PyTorch: 1$'
says '^  level2/1_slow f32, TF32 forbidden: 0\.250, 10 % of the roof, 2 kernels \(PyTorch.s eager 4\)$'
says '^  level1/2_wrong f32, TF32 forbidden: wrong  ours: wrong '
says_not Traceback
python3 - "$OUTDIR/kernelbench.csv" <<'END' || fail "kernelbench.csv:" "$(cat "$OUTDIR/kernelbench.csv")"
import csv, sys

with open(sys.argv[1], newline="") as file:
    lines = {line["name"]: line for line in csv.DictReader(file)}
assert {name: line["ours"] for name, line in lines.items()} == {
    "level1/1_fast": "right", "level1/2_wrong": "wrong", "level1/3_crashes": "crashed", "level1/4_refused": "refused",
    "level1/5_torch_dies": "right", "level1/10_unjudged": "not judged", "level2/1_slow": "right",
    "level2/2_unloadable": "refused"}
fast = lines["level1/1_fast"]
assert list(lines)[5] == "level1/10_unjudged", "by number"
assert (fast["ours_us"], fast["default_us"], fast["eager_us"], fast["compile_us"]) == ("250", "300", "1000", "500")
assert (fast["best_over_ours"], fast["compile_over_ours"], fast["tflops"]) == ("2.000", "2.000", "8.00")
assert (fast["tf32_products"], fast["tf32_convolutions"], fast["ours_precision"]) == ("no", "no", "f32")
assert (fast["kernels"], fast["ours_mb"], fast["eager_launches"], fast["eager_mb"]) == ("2", "1.5", "4", "2.5")
assert (fast["kept_mb"], fast["load_us"]) == ("0.25", "7")
assert lines["level1/2_wrong"]["eager_us"] == "1000" and not lines["level1/2_wrong"]["ours_us"]
assert lines["level1/5_torch_dies"]["why"].startswith("eager: crashed exit 7")
END

# What has an outcome is not run again, but for what failed if that is asked for.
cp -r "$OUTDIR" "$TMP/before"
bench kernelbench LEVELS=1,2 -- "$TMP/kb"
expect 0 "nothing is left to run"
cmp -s "$OUTDIR/runs.csv" "$TMP/before/runs.csv" || fail "it was run again:" "$said"
cmp -s "$OUTDIR/kernelbench.csv" "$TMP/before/kernelbench.csv" || fail "another table"
bench kernelbench LEVELS=1,2 RETRY=1 ONLY='1_fast|2_wrong' -- "$TMP/kb"
expect 1 "again" && says '^level1/2_wrong f32 f32 ours: wrong ' && says_not '^level1/1_fast f32 f32'
cp "$TMP/before/kernelbench.csv" "$OUTDIR"

# Both settings of TF32, and PyTorch's own, whose other side is timed once.
OUTDIR=$TMP/precisions
bench kernelbench PRECISIONS=f32,tf32,default CONTAINS='nn\.Conv' -- "$TMP/kb"
expect 0 "three precisions"
[ "$(grep -c ',ours,ok' "$OUTDIR/runs.csv")" = 2 ] || fail "f32 and tf32 of ours:" "$(cat "$OUTDIR/runs.csv")"
[ "$(cut -d, -f1,6-9 "$OUTDIR/kernelbench.csv" | sed 1d | tr '\n' ' ')" = \
    "level2/1_slow,f32,no,no,f32 level2/1_slow,tf32,yes,yes,tf32 level2/1_slow,default,no,yes,tf32 " ] ||
    fail "TF32 said in each line:" "$(cat "$OUTDIR/kernelbench.csv")"
says "PyTorch's own flags \(TF32 in convolutions\), over compile: 1 problems, 1 right"

# Every second problem; the others are lines without a time.
OUTDIR=$TMP/shard
bench kernelbench LEVELS=1 SHARD=1/2 PARTS=torch ONLY='1_fast|2_wrong|4_ref' -- "$TMP/kb"
says '^level1/2_wrong f32 f32 eager: ok' && says_not '^level1/(1_fast|4_refused) f32 f32 eager:'
[ "$(wc -l <"$OUTDIR/kernelbench.csv")" = 4 ] || fail "three lines:" "$(cat "$OUTDIR/kernelbench.csv")"

bench kernelbench LEVELS=1 SHARD=0/2 PARTS=torch ONLY='1_fast|2_wrong|4_ref' OUTDIR="$TMP/other" -- "$TMP/kb"
python3 -B scripts/case_table.py "$TMP/shard" "$TMP/other" >"$TMP/both.csv" 2>&1 || fail "two folders:" "$(cat "$TMP/both.csv")"
[ "$(grep -c ',not run,.*,1000,500,' "$TMP/both.csv")" = 3 ] || fail "each time of two folders:" "$(cat "$TMP/both.csv")"

# Killed in the middle, twice at the same case: that one has died, and the others are run. LIMIT ends what hangs.
OUTDIR=$TMP/killed
for _ in 1 2; do
    bench kernelbench LEVELS=3 PARTS=ours ONLY='kills|4_fast' -- "$TMP/kb"
    [ "$status" != 0 ] || fail "it was to be killed" "$said"
done
bench kernelbench LEVELS=3 PARTS=ours ONLY='kills|4_fast' -- "$TMP/kb"
expect 1 "a third call"
says '^level3/1_kills f32 f32 ours: died what ran it was killed twice meanwhile$'
says '^level3/4_fast f32 f32 ours: ok '
bench kernelbench LEVELS=3 LIMIT=1 ONLY='_hangs' WAYS=eager PARTS=torch -- "$TMP/kb"
says '^level3/3_torch_hangs f32 f32 eager: timeout more than 1 s$'
bench kernelbench LEVELS=3 LIMIT=1 ONLY='/2_hangs' PARTS=ours -- "$TMP/kb"
says '^level3/2_hangs f32 f32 ours: timeout '

# No time, and calls that are wrong.
OUTDIR=$TMP/none
bench kernelbench LEVELS=1 TOTAL=0 -- "$TMP/kb"
expect 1 "no time" && says '^bench_kernelbench: no time left for 18 runs$'
bench kernelbench ONLY=nonsense -- "$TMP/kb"
expect 2 "no such case" && says "no case matches ONLY='nonsense'"
bench kernelbench PRECISIONS=bf16 -- "$TMP/kb"
expect 2 "no such precision" && says "PRECISIONS has no 'bf16'; it takes: f32,tf32,default\$"
bench kernelbench SHARD=2/2 -- "$TMP/kb"
expect 2 "no such shard" && says 'is I/N with I from 0 to N - 1'
bench kernelbench
expect 2 "no path" && says 'the path of a checkout of KernelBench is needed'
bench kernelbench WARPSMITH="$TMP/absent" -- "$TMP/kb"
expect 3 "no binary"
bench kernelbench PYTHON=false -- "$TMP/kb"
[ "$status" != 0 ] || fail "a python that does nothing"

# ---- models ------------------------------------------------------------------------------------------------------------

OUTDIR=$TMP/models
bench models CASES=small ONLY='^(dlrm|resnet50) '
expect 0 "models"
says '^dlrm f32 f32 max-autotune: ok'
says '^resnet50 f32 eval, TF32 forbidden +right +250\.0 +1000\.0 +500\.0 +800\.0 +2\.000 +1\.5 +2\.5 '
[ "$(cut -d, -f1,4,14,16-18 "$OUTDIR/models.csv" | sed 1d | tr '\n' ' ')" = \
    "resnet50,eval,250,1000,500,800 dlrm,fwd,250,1000,500,800 " ] || fail "models.csv:" "$(cat "$OUTDIR/models.csv")"
for kernel in '^dlrm dlrm f32 f32 batch=8 .*,ours,k_0,,100$' '^dlrm .*,compile,gemm,3,900(\.0)?$'; do
    grep -qE "$kernel" "$OUTDIR/kernels.csv" || fail "no /$kernel/ in kernels.csv:" "$(cat "$OUTDIR/kernels.csv")"
done
bench models TOTAL=0 OUTDIR="$TMP/all"
[ "$(wc -l <"$TMP/all/cases.txt")" = 39 ] || fail "13 models in three precisions:" "$(cat "$TMP/all/cases.txt")"
bench models CASES=tiny
expect 2 "no such cases" && says "^bench_models: CASES is 'tiny'; it is all or small\$"

# ---- attention ---------------------------------------------------------------------------------------------------------

OUTDIR=$TMP/attention
bench attention CASES=small SHARD=0/1 ONLY='^(matrix_rate|causal_128|causal_128_train|cap|window|documents|prefix|decode) '
expect 1 "one backend refuses"
says '^causal_128 f32 f32 flash: launch_error .*No available kernel'
says_not '^cap f32 f32 flash'
says '^causal_128 +right +250\.0 '
python3 - "$OUTDIR/attention.csv" <<'END' || fail "attention.csv:" "$(cat "$OUTDIR/attention.csv")"
import csv, sys

with open(sys.argv[1], newline="") as file:
    lines = {line["name"]: line for line in csv.DictReader(file)}
rate = 2 * 512**3 / 250 / 1e6
assert abs(float(lines["matrix_rate"]["rate_tflops"]) - rate) < 1e-6
causal = lines["causal_128"]
assert causal["pairs"] == str(32 * 33 // 2) and causal["work"] == str(4 * 4 * 32 * 528), causal
assert abs(float(causal["ours_of_rate"]) - 100 * 4 * 4 * 32 * 528 / 250 / 1e6 / rate) < 1e-4
assert lines["causal_128_train"]["work"] == str(int(3.5 * 4 * 4 * 32 * 528)) and lines["causal_128_train"]["mode"] == "train"
assert causal["best_way"] == "compile" and causal["cudnn_us"] == "800" and "flash: launch_error" in causal["why"]
assert lines["window"]["pairs"] == str(sum(min(i + 1, 8) for i in range(64)))
assert lines["documents"]["pairs"] == str(8 * 36) and lines["prefix"]["pairs"] == str(sum(range(29, 33)))
assert lines["decode"]["pairs"] == "64" and float(lines["decode"]["ours_gbps"]) > 0
assert lines["cap"]["eager_us"] == "1000" and not lines["cap"]["math_us"] and lines["cap"]["flex_us"] == "800"
END
bench attention TOTAL=0 OUTDIR="$TMP/all"
[ "$(wc -l <"$TMP/all/cases.txt")" = 46 ] || fail "the cases:" "$(cat "$TMP/all/cases.txt")"
bench attention CASES=small ONLY='^(matrix_rate|mqa|cross) ' SHARD=1/2 WAYS=eager OUTDIR="$TMP/part"
says '^matrix_rate f32 f32 ours' && says '^cross f32 f32 ours' && says_not '^mqa f32 f32 ours'
bench attention CASES=tiny
expect 2 "no such cases" && says "^bench_attention: CASES is 'tiny'; it is all or small\$"

# What docs/ would say of them.
for script in kernelbench models attention; do
    status=0 && said=$(python3 -B scripts/sample_tables.py $script "$TMP/$script/$script.csv" 2>&1) || status=$?
    expect 0 "the tables of $script"
    says "^.scripts/bench_$script\.sh. on X1, 2026-01-02; rows in "
    case $script in
    kernelbench)
        says '^\| level1 \| f32, TF32 forbidden \| compile \| 6 \| 2 \| 0\.33 \| 0\.17 \| 0\.17 \| 0\.17 \| 0\.17 \| 0\.00 \| 2\.000 \| 2\.000 \| 2\.000 \| 2\.000 \| 100 \|$'
        says '^\| level1/1_fast \| f32, TF32 forbidden \| 250\.0 \| 1000\.0 \| 500\.0 \| 2\.000 \| 250\.0 \| 100 \|$'
        says '^\| level2/1_slow \| f32, TF32 forbidden \| 2000\.0 \| .* \| 0\.250 \| 250\.0 \| 12 \|$'
        says '^\| level2/1_slow \| f32, TF32 forbidden \| 0\.250 \| 2000\.0 \| 10\.0 \| 2 \| 4 \|$'
        says '^\| level1/2_wrong \| f32, TF32 forbidden \| wrong \| ours: wrong '
        ;;
    models) says '^\| resnet50 \| f32 eval, TF32 forbidden \| 250\.0 \| 1000\.0 \| 500\.0 \| 800\.0 \| 2\.000 \|$' ;;
    attention) says '^\| cap \| f32, TF32 forbidden \| 250\.0 \| 0\.0 \| [0-9.]+ \| compile \| 500\.0 \|' ;;
    esac
done

for script in kernelbench models attention; do
    bench $script -- --help
    expect 0 "$script --help" && says "OUTDIR=out scripts/bench_$script\.sh"
    bench $script -- --nonsense
    expect 2 "$script with an option that it has not"
done

[ $failures = 0 ]
