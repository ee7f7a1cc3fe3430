#!/usr/bin/env python3
"""Result files that nobody measured, for tests/run/report_texts.sh: rows.py FOLDER

    all/          of everything that a report shows something for, and of what lies at an edge of it
    night/        twelve nights: steady, slower, faster, noisy, new, gone
    other/        what merge brings together with all/, and compare finds a difference to

Nothing in it is random, and all numbers are exact in four digits, so that what is made of it is the same anywhere."""
import os
import re
import sys

DEF = open('reports/columns.def', encoding='utf-8').read()
COLUMNS = re.findall(r'^COLUMN\(\w+, (\w+)\)', DEF, re.M)
SCHEMAS = [(int(n), last) for n, last in re.findall(r'^SCHEMA\((\d+), (\w+)\)', DEF, re.M)]
STATUSES = re.findall(r'^STATUS\((\w+)\)', DEF, re.M)
DEVICES = [('NVIDIA H200', 'sm_90a', 4000, 60), ('NVIDIA H100 80GB HBM3', 'sm_90a', 2800, 55), ('AMD EPYC, 2 cores', 'cpu', 90, 0.4)]


def write(path, rows, schema=len(SCHEMAS)):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    names = COLUMNS[:COLUMNS.index(dict(SCHEMAS)[schema]) + 1]
    with open(path, 'w', encoding='utf-8') as f:
        f.write(','.join(names) + '\n')
        for r in rows:
            values = [str(r.get(c, '')) for c in names]
            f.write(','.join('"%s"' % v.replace('"', '""') if re.search('[,"\n]', v) else v for v in values) + '\n')


def times(us, spread=0.004, **more):
    return dict({'median_us': '%.5g' % us, 'q1_us': '%.5g' % (us * (1 - spread)), 'q3_us': '%.5g' % (us * (1 + 1.5 * spread)),
                 'min_us': '%.5g' % (us * (1 - 2 * spread)), 'ci_us': '%.4g' % (us * spread / 2), 'n': 200,
                 'host_us': '%.4g' % (us + 3)}, **more)


def case(device, workload, axes, dtype='f32', mode='fwd', run='20260901T020000Z-1', day='2026-09-01', schema=len(SCHEMAS)):
    name, arch, _, _ = DEVICES[device]
    return {'schema': schema, 'run_id': run, 'timestamp': day + 'T02:00:00Z', 'git_rev': 'abc1234', 'host': 'host-%d' % device,
            'device': name, 'arch': arch, 'driver': '580.65' if arch != 'cpu' else '', 'timer': 'cupti' if arch != 'cpu' else 'monotonic',
            'toolchain': 'nvrtc 13.0.88' if arch != 'cpu' else 'cc 13.3', 'workload': workload, 'mode': mode, 'dtype': dtype,
            'axes': axes, 'graph': '51eccb75fb41c713', 'status': 'ok', 'precision': 'f32', 'weights': 'fixed',
            'clock_mhz': 1980, 'temp_c': 41, 'throttle': 'none'}


def rates(device, us, size, flops):
    floor = max(size / DEVICES[device][2] / 1e3, flops / DEVICES[device][3] / 1e6)
    return {'bytes': size, 'flops': flops, 'gbps': '%.5g' % (size / us / 1e3), 'tflops': '%.5g' % (flops / us / 1e6),
            'roof_pct': '%.4g' % (100 * floor / us)}


def bench(device, workload, axes, us, size=1 << 26, flops=1 << 27, kernels=1, variants=4, torch=True, spread=0.004, **of):
    """The rows of one benchmark, whose fastest is `us`."""
    base = case(device, workload, axes, **of)

    def row(role, kernel, t, **more):
        return dict(base, role=role, kernel=kernel, **dict(times(t, spread), **dict(rates(device, t, size, flops), **more)))

    rows = [dict(base, role='roof', kernel='program', gbps=DEVICES[device][2], tflops=DEVICES[device][3], n=20,
                 median_us='17.5')]
    rows.append(row('eager', 'program', 3.1 * us, kernels_us='%.5g' % (3 * us), span_us='%.5g' % (3.1 * us)))
    if torch:
        rows.append(row('torch_eager', 'program', 2.9 * us, toolchain='torch 2.11', precision='default' if of.get('dtype') else 'f32'))
        rows.append(row('torch_compile', 'program', 1.3 * us, config='default', toolchain='torch 2.11'))
        rows.append(row('torch_compile', 'program', 1.2 * us, config='max-autotune-no-cudagraphs', toolchain='torch 2.11'))
    rows.append(row('default', 'program', 1.4 * us, kernels_us='%.5g' % (1.3 * us), load_us='12.5', kept_bytes=4096))
    rows.append(row('tuned', 'program', us, reference='eval', error='1.5', bound='6', error_at='out0[3, 17]', judged=1000,
                    judged_of=4096, reference_s='0.25', trials=kernels * variants, tuning_s='12.5', compile_s='6.25',
                    check_s='1.25', measure_s='3.5', search_s='1.5', kernels_us='%.5g' % (us * 0.96), span_us='%.5g' % us,
                    all_check_s='2.5', all_timing_s='4.5', all_s='20.25', unbounded=7, unjudged=0, load_us='12.5', kept_bytes=4096))
    for k in range(kernels):
        for v in range(variants):
            t = us * (0.55 if k == 0 and kernels > 1 else 0.4 if kernels > 1 else 1) * (1 + v * 0.125)
            rows.append(row('variant', 'k%d_%s' % (k, 'sum' if k else 'mul'), t, guard='1 <= s0 <= 4096' if v == 0 else '',
                            config='x=%d r=%d warps=%d vec=4 stages=2' % (1 << v, 4096 >> v, 8 >> v % 4), is_winner=int(v == 0),
                            compile_ms=100 + v, regs=32 + 8 * v, smem_bytes=1024 * v, occupancy='0.75', counters=('cupti', 'counted', '')[v % 3],
                            dram_bytes=size + v, dram_read_bytes=size // 2, dram_write_bytes=size // 2 + v, l2_hit_pct='41.5', issue_pct='62.5',
                            pipe=('alu', 'lsu', 'tensor', 'xu')[v % 4], pipe_pct='35.5', stall='long_scoreboard', stall_pct='55.5',
                            local_bytes=0))
    return rows


def with_statuses(rows):
    """Each status that there is, of variants of the first kernel; those that were not timed have no time."""
    first = next(r for r in rows if r['role'] == 'variant')
    out = list(rows)
    for i, s in enumerate(STATUSES):
        r = dict(first, status=s, is_winner=0, guard='', config='x=%d r=1 warps=1 status=%s' % (i + 3, s))
        if s not in ('ok', 'spill', 'implausible', 'duplicate'):
            for c in ('median_us', 'q1_us', 'q3_us', 'min_us', 'ci_us', 'gbps', 'tflops', 'roof_pct', 'n', 'host_us'):
                r[c] = ''
        out.append(r)
    return out


def sizes(device, workload, n, us, **more):
    return [r for i in range(n) for r in bench(device, workload, 'dim=%d rows=4096' % (256 << i), us * 2 ** i, size=1 << (22 + i),
                                               flops=1 << (23 + i), **more)]


def write_all(folder):
    write(folder + '/softmax.csv', sizes(0, 'softmax', 4, 8.5) + sizes(0, 'softmax', 2, 9.5, dtype='bf16', variants=2))
    write(folder + '/linear.csv', bench(0, 'linear_gelu', 'in=512 out=2048', 40, flops=1 << 33, kernels=2, variants=6) +
          bench(0, 'linear_gelu', 'in=512 out=2048', 120, mode='train', flops=3 << 33, kernels=3, variants=2, torch=False))
    write(folder + '/norm.csv', with_statuses(bench(0, 'layernorm', 'dim=4096', 31.25)) +
          with_statuses(bench(2, 'layernorm', 'dim=4096', 3125, torch=False)))
    write(folder + '/h100.csv', sizes(1, 'softmax', 4, 12.5, torch=False) + bench(1, 'linear_gelu', 'in=512 out=2048', 44, flops=1 << 33))
    wide = bench(0, 'many <configs> & "quotes"', '', 20, variants=24, torch=False)
    odd = bench(0, 'unsteady', 'dim=7', 15, spread=0.08, variants=1)
    for r in odd:
        if r['role'] == 'tuned':
            r.update(throttle='sw_power_cap', error='12', bound='6', reference='sampled', status='implausible', unjudged=9)
        if r['role'] == 'default':
            r.update(status='wrong')
    lost = bench(0, 'failed', 'dim=9', 15, variants=2, torch=False)
    lost = [dict(r, status='launch_error', median_us='', q1_us='', q3_us='', ci_us='', n='') if r['role'] in ('tuned', 'variant') else r
            for r in lost]
    again = bench(0, 'layernorm', 'dim=4096', 30.5, run='20260902T020000Z-1', day='2026-09-02', variants=2)
    write(folder + '/odd.csv', wide + odd + lost + again)
    for n, _ in SCHEMAS[:-1]:
        write('%s/schema%d.csv' % (folder, n), bench(0, 'old', 'dim=%d' % (64 + n), 10 + n, schema=n, variants=1), n)


def write_nights(folder):
    """One file a night; what becomes of each benchmark, as a factor of its time in that night. None: it was not run."""
    def step(at, factor, end=99):
        return lambda night: factor if at <= night < end else 1

    moves = {'back': step(4, 1.5, 9), 'broken': step(99, 1), 'drift': lambda night: 1 + night / 200, 'faster': step(11, 0.8),
             'gone': lambda night: 1 if night < 11 else None, 'jump': step(7, 1.2), 'new': lambda night: None if night < 11 else 1,
             'noisy': lambda night: 1 + night * 5 % 7 / 20, 'slower': step(11, 1.1), 'steady': lambda night: 1 + night * 5 % 3 / 1000,
             'two nights': lambda night: None if night < 10 else 1 + night / 100}
    for night in range(12):
        rows, day = [], '2026-09-%02d' % (night + 1)
        for name, factor in sorted(moves.items()):
            for run in (1, 2) if name == 'slower' and night == 11 else (1,):
                if factor(night) is not None:
                    rows += bench(0, name, 'dim=512', 50 * factor(night) * (1 if run == 1 else 1.01), torch=False, variants=1,
                                  spread=0.05 if name == 'noisy' else 0.004, run='%s.%d' % (day.replace('-', ''), run), day=day)
                    if name == 'broken' and night == 11:
                        for r in rows[-2:]:
                            r.update(status='wrong')
        if night == 11:
            for r in rows:
                r.update(clock_mhz=1500 if r['workload'] == 'jump' else 1980, git_rev='def5678')
        write('%s/night%d.csv' % (folder, night + 1), rows)


if __name__ == '__main__':
    write_all(sys.argv[1] + '/all')
    write_nights(sys.argv[1] + '/night')
    write(sys.argv[1] + '/other/softmax.csv', sizes(0, 'softmax', 4, 9.0, run='20260903T020000Z-7', day='2026-09-03') +
          bench(0, 'softmax', 'dim=256 rows=4096', 8.4, run='20260904T020000Z-7', day='2026-09-04', variants=1))
    write(sys.argv[1] + '/other/h100.csv', bench(1, 'only_there', '', 12, torch=False, variants=1))
    write(sys.argv[1] + '/clash/clash.csv', bench(0, 'softmax', 'dim=256 rows=4096', 8.75))
