#!/usr/bin/env bash
# bench_growth.sh: what it takes to compile large programs on this machine, stage by stage, and how that grows.
#
#   scripts/bench_growth.sh                       writes reports/samples/growth_<host architecture>.csv
#   OUT=growth.csv ONLY='sines outputs' scripts/bench_growth.sh
#
# Each program is compiled at three sizes, each twice the one before, for a GPU and for the CPU, from its file to
# binaries. One row a stage and one for all of them:
#   program,arch,size,kernels,compiled,stage,ms,cpu_ms,mib,exponent,limit,device,date
# cpu_ms is of all processes; exponent is the binary logarithm of how much more of it that is than at half the size (1:
# it grows as the program does), where the stage took long enough to tell; mib is the largest process so far. The limits,
# of the largest size: 10 s for all, and of each stage that takes half a second an exponent of 1.5. Wall times are worth
# something on an idle machine only: the device says how many cores others have used meanwhile.
#
# Environment: OUT, ONLY (programs), ARCHES (sm_90a cpu).
# Exit codes: 0 fine, 1 a limit is exceeded, 2 wrong call, 3 something cannot run here.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

. scripts/script_head.sh

out=${OUT:-reports/samples/growth_$(uname -m).csv}
only=${ONLY:-sines cheap tapped products products64 outputs blocks shapes train}
arches=${ARCHES:-sm_90a cpu}
need_warpsmith build/warpsmith
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export WARPSMITH_CACHE=$tmp/store.db

# program NAME BODY: a function of x, which is rows numbers.
program() {
    cat >"$tmp/$1.py" <<END
import torch

size = 1
rows = 1024


def $1(x):
    out = []
    for i in range(size):
$2
    return (x, *out)


def get_inputs():
    return [torch.randn(rows)]
END
}

# products NAME SIDE
products() {
    cat >"$tmp/$1.py" <<END
import torch

size = 1
side = $2


def $1(x, w):
    for i in range(size):
        x = x @ w
    return x


def get_inputs():
    return [torch.randn(side, side), torch.randn(side, side)]
END
}

# blocks NAME WIDTH: linear, norm and gelu, size times; the ith of them WIDTH wide.
blocks() {
    cat >"$tmp/$1.py" <<END
import torch
import torch.nn as nn
import torch.nn.functional as F

size = 1
rows = 32


def width(i):
    return $2


class Block(nn.Module):
    def __init__(self, i):
        super().__init__()
        self.linear = nn.Linear(width(i), width(i + 1))
        self.norm = nn.LayerNorm(width(i + 1))

    def forward(self, x):
        return F.gelu(self.norm(self.linear(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(i) for i in range(size)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def get_inputs():
    return [torch.randn(rows, width(0))]
END
}

program sines '        x = x.sin() + i'
program cheap '        x = x * 0.999 + i'
program tapped '        x = x * 0.999 + i
        if i % 10 == 0:
            out.append(x)'
program outputs '        out.append(x * i)'
products products 4
products products64 64
blocks blocks 64
blocks shapes '16 + 4 * (i % 40)'
cp "$tmp/blocks.py" "$tmp/train.py"
declare -A largest=([sines]=2000 [cheap]=2000 [tapped]=2000 [outputs]=2000 [products]=500 [products64]=500
    [blocks]=1500 [shapes]=1500 [train]=300)

used() { [ ! -r /proc/stat ] || awk '/^cpu / { print $2 + $3 + $4 }' /proc/stat; }
begin=$SECONDS used_before=$(used)
for name in $only; do
    [ -f "$tmp/$name.py" ] || {
        echo "bench_growth: no program '$name': ${!largest[*]}" >&2
        exit 2
    }
    for arch in $arches; do
        for part in 4 2 1; do
            size=$((largest[$name] / part)) mode=fwd
            [ "$name" != train ] || mode=train
            WS_LOGS=stages python3 -c 'import resource, subprocess, sys, time
begin = time.monotonic()
code = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"[stages] all: {(time.monotonic() - begin) * 1e3:.1f} ms, {(r.ru_utime + r.ru_stime) * 1e3:.1f} ms of CPU, "
      f"at most {r.ru_maxrss // 1024} MB so far", file=sys.stderr)
sys.exit(code)' build/warpsmith compile "$tmp/$name.py" -D size=$size --arch "$arch" --mode $mode >"$tmp/table" 2>"$tmp/log" || {
                echo "bench_growth: $name of $size for $arch: $(grep -v '^\[stages\]' "$tmp/log" | head -n 3)" >&2
                exit 3
            }
            kernels=$(($(wc -l <"$tmp/table") - 2)) compiled=$(grep -c ' ms  ' "$tmp/table")
            sed -n 's/^\[stages\] \([a-z]*\): \([0-9.]*\) ms, \([0-9.]*\) ms of CPU, at most \([0-9]*\) MB so far$/\1 \2 \3 \4/p' \
                "$tmp/log" | sed "s/^/$name $arch $size $part $kernels $compiled /" >>"$tmp/rows"
            echo "$name of $size for $arch: $kernels kernels, $compiled compiled, $(sed -n 's/^\[stages\] all: //p' "$tmp/log")" >&2
        done
    done
done

code=0
python3 - "$tmp/rows" "$tmp/csv" "$((SECONDS - begin))" "${used_before:-0}" "$(used)" <<'END' || code=$?
import csv, datetime, math, os, platform, sys

TOO_SHORT, LONG = 30, 500  # ms of CPU: for an exponent; for a limit on it

def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()

own = sum(float(line.split()[8]) for line in open(sys.argv[1]) if line.split()[6] == "all") / 1e3
others = (float(sys.argv[5] or 0) - float(sys.argv[4])) / os.sysconf("SC_CLK_TCK") - own
device = f"{processor()}, {len(os.sched_getaffinity(0))} cores, of which others used {max(0, others / float(sys.argv[3])):.1f}"
before, missed = {}, False
with open(sys.argv[2], "w", newline="") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow("program arch size kernels compiled stage ms cpu_ms mib exponent limit device date".split())
    for line in open(sys.argv[1]):
        name, arch, size, part, kernels, compiled, stage, ms, cpu, mib = line.split()
        half = before.get((name, arch, stage))
        before[name, arch, stage] = float(cpu)
        exponent, limit = "", ""
        if half and half >= TOO_SHORT and float(cpu) > 0:
            exponent = f"{math.log2(float(cpu) / half):.2f}"
        if part == "1" and stage == "all":
            limit = "ms <= 10000"
            missed |= float(ms) > 10000
        elif part == "1" and float(cpu) >= LONG and exponent:
            limit = "exponent <= 1.5"
            missed |= float(exponent) > 1.5
        w.writerow([name, arch, size, kernels, compiled, stage, ms, cpu, mib, exponent, limit, device,
                    datetime.date.today().isoformat()])
sys.exit(missed)
END
[ -f "$tmp/csv" ] || exit 3
mv "$tmp/csv" "$out"
awk -F, '$6 == "all" || $11 != ""' "$out" | cut -d, -f1-11
echo "wrote $out"
exit $code
