#!/usr/bin/env bash
# bench_history_scale.sh: seconds and memory that `report` and `nightly judge` take of a history of 5 million rows.
#
#   scripts/bench_history_scale.sh                   writes reports/samples/history_scale_<host architecture>.csv
#   OUT=scale.csv SHARE=0.01 ONLY="searched known" scripts/bench_history_scale.sh
#
# Three histories, or those that ONLY names, are made one after the other, in TMPDIR, which needs 3 GB; they are removed:
#
#   searched  250 benchmarks, 400 nights, each with 46 variants and 4 rows of programs: 25 files
#   known     1,000 benchmarks, 1,250 nights, programs alone, as nights are once the store knows the configs: 100 files
#   one_file  the first, of 430 nights, in a single CSV of over 2^31 bytes
#
# Of each: `warpsmith report` without an index of the CSVs, and with one that lacks the last night; then `nightly
# judge`. SHARE (1) of the nights makes them small ones. A row each:
#   history,command,index,files,rows,mb,seconds,cpu_seconds,peak_mb,limit_seconds,limit_mb,load,device,date
# seconds are of the wall, cpu_seconds of all processes, peak_mb of the largest one; load is the machine's before the
# command, with the processes of others in it. It fails if a count of rows or benchmarks is wrong. Five minutes of two
# cores.
set -euo pipefail
out=$(realpath -m "${OUT:-reports/samples/history_scale_$(uname -m).csv}")
warpsmith=$(realpath -m "${WARPSMITH:-build/warpsmith}")
cd "$(dirname "$0")/.."
. scripts/script_head.sh
need_warpsmith "$warpsmith"

work=$(mktemp -d "${TMPDIR:-/tmp}/history.XXXXXX")
trap 'rm -rf "$work"' EXIT
PYTHONPATH=scripts python3 -B - "$out" "$warpsmith" "$work" "${SHARE:-1}" "${ONLY:-searched known one_file}" <<'PYTHON'
import csv
import datetime
import os
import re
import resource
import subprocess
import sys
import time

from made_history import History

out, warpsmith, work, share = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
model = next((l.split(':', 1)[1].strip() for l in open('/proc/cpuinfo') if l.startswith('model name')), os.uname().machine)
device = '%s, %d cores' % (' '.join(model.split()[:2]), os.cpu_count())
rows_out = []


def plain(text):
    """Without the spaces between thousands."""
    return re.sub('(?<=[0-9])[\u202f ,](?=[0-9]{3})', '', text)


def measure(history, name, command, index, says):
    # A process of its own measures: the peak of children is the highest of all so far.
    code = ('import resource, subprocess, sys\n'
            'p = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n'
            'u = resource.getrusage(resource.RUSAGE_CHILDREN)\n'
            'print(p.returncode, u.ru_maxrss, u.ru_utime + u.ru_stime)\n'
            'print(p.stdout + p.stderr)')
    load = os.getloadavg()[0]
    begun = time.monotonic()
    said = subprocess.run([sys.executable, '-c', code, warpsmith, *command.split(), '--results', history.folder],
                          check=True, capture_output=True, text=True).stdout
    seconds = time.monotonic() - begun
    status, peak, cpu = said.split('\n', 1)[0].split()
    if status != '0' or says not in said:
        sys.exit('bench_history_scale: %s of %s failed:\n%s' % (command, name, said))
    if command == 'report' and '%d rows' % history.rows not in plain(open(history.folder + '/report/index.html').read()):
        sys.exit('bench_history_scale: the page does not say that there are %d rows' % history.rows)
    rows_out.append([name, command, index, len(history.files()), history.rows, round(history.bytes() / 1e6),
                     '%.1f' % seconds, '%.1f' % float(cpu), round(int(peak) / 1024), 30, 1024, '%.1f' % load, device,
                     datetime.date.today().isoformat()])
    with open(out, 'w', newline='') as f:
        w = csv.writer(f, lineterminator='\n')
        w.writerow('history command index files rows mb seconds cpu_seconds peak_mb limit_seconds limit_mb load device '
                   'date'.split())
        w.writerows(rows_out)


def nights(n):
    return max(8, round(n * share))


made = {'searched': dict(workloads=25, sizes=5, variants=46), 'known': dict(workloads=100, sizes=5, variants=0),
        'one_file': dict(workloads=25, sizes=5, variants=46, together=True)}
for name in sys.argv[5].split():
    if name not in made:
        sys.exit('bench_history_scale: ONLY takes words of %s, not %s' % (' '.join(made), name))
    history = History(os.path.join(work, name), **made[name])
    for night in range(nights({'searched': 400, 'known': 1250, 'one_file': 430}[name])):
        history.add(night)
    benchmarks = ' %d benchmarks' % history.benchmarks
    measure(history, name, 'report', 'none', benchmarks)
    history.add(night + 1)
    measure(history, name, 'report', 'of the night before', benchmarks)
    measure(history, name, 'nightly judge', 'there', '%d same' % (3 * history.benchmarks))
    subprocess.run(['rm', '-rf', history.folder], check=True)
PYTHON
column -s, -t <"$out" 2>/dev/null || cat "$out"
