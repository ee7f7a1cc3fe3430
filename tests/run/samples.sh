#!/usr/bin/env bash
# reports/samples/index.csv says of every file there by which command, on what device and when it came to be, and says what
# the rows say; what a script has computed from times agrees with them; and the documents are what
# scripts/readme_tables.sh makes of them, but for those with dumps of a compiler that may not be here.
set -euo pipefail
mapfile -t documents < <(grep -rl '^<!-- begin [a-z]' README.md docs --include='*.md' | xargs grep -L '^<!-- begin stage')
scripts/readme_tables.sh --check "${documents[@]}"
# Device against device follows from the samples; no figure is drawn for it.
mkdir -p "$TMP/no_gnuplot"
printf '#!/bin/sh\nexit 1\n' >"$TMP/no_gnuplot/gnuplot"
chmod +x "$TMP/no_gnuplot/gnuplot"
PATH=$TMP/no_gnuplot:$PATH scripts/device_sample.sh "$TMP/devices" 2>/dev/null
cmp "$TMP/devices.csv" reports/samples/devices_h100_h200.csv
python3 - <<'PYTHON'
import csv
import fnmatch
import os
import re
import shlex
import sys

FOLDER = 'reports/samples'
wrong = []


def read(path):
    with open(path, newline='', encoding='utf-8') as f:
        return list(csv.DictReader(f))


def days(row):
    """The day of a row: a date, a timestamp, or a run's id."""
    text = row.get('date') or row.get('timestamp') or row.get('run_id') or ''
    return re.sub(r'^(\d{4})-?(\d\d)-?(\d\d).*', r'\1-\2-\3', text)


def makes(command):
    """Is it a command that this project has?"""
    words = [w for w in shlex.split(command) if not re.match(r'[A-Z]+=', w)]
    if words[0] == 'make':
        rules = [open(f, encoding='utf-8').read() for f in ['Makefile'] + [
            os.path.join(d, n) for d, _, names in os.walk('tests') for n in names if n == 'rules.mk']]
        return any(re.search(r'^%s\b.*:' % re.escape(words[1]), text, re.M) for text in rules)
    return words[0] == 'warpsmith' or os.access(words[0], os.X_OK)


index = read(FOLDER + '/index.csv')
files = sorted(os.path.relpath(os.path.join(d, n), FOLDER) for d, _, names in os.walk(FOLDER) for n in names)
files = [f for f in files if f not in ('README.md', 'index.csv')]
for row in index:
    if not row['device'] or not re.fullmatch(r'\d{4}-\d\d-\d\d', row['date']) or not makes(row['command']):
        wrong.append('%s: no device, no date, or no such command: %s' % (row['file'], row))
    if not fnmatch.filter(files, row['file']):
        wrong.append('%s: there is no such file' % row['file'])
for name in files:
    rows = [r for r in index if fnmatch.fnmatch(name, r['file'])]
    if len(rows) != 1:
        wrong.append('%s/%s: %d rows of index.csv are about it' % (FOLDER, name, len(rows)))
        continue
    samples = read(FOLDER + '/' + name) if name.endswith('.csv') else []
    devices = sorted({r['device'] for r in samples if r.get('device')})
    dates = sorted({days(r) for r in samples if days(r)})
    if devices and devices != [rows[0]['device']]:
        wrong.append('%s: measured on %s, not on %s' % (name, devices, rows[0]['device']))
    if dates and dates[-1] != rows[0]['date']:
        wrong.append('%s: of %s, not of %s' % (name, dates[-1], rows[0]['date']))

# What scripts/product_table.py has computed follows from the times beside it.
for name in ('products_h200.csv', 'products_x86_64.csv'):
    for r in read(FOLDER + '/' + name):
        us = float(r['ours_us'])
        if r['tflops'] != '%.1f' % (float(r['flops']) / us / 1e6):
            wrong.append('%s: not the TFLOP/s of its time: %s' % (name, r))
        if (r['torch_over_ours'] != '%.3f' % (float(r['torch_us']) / us)) if r['torch_us'] else r['torch_over_ours']:
            wrong.append('%s: not the ratio of its times: %s' % (name, r))
print('\n'.join(wrong))
sys.exit(bool(wrong))
PYTHON
