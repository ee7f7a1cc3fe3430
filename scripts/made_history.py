"""Result files of many nights that nobody measured, for scripts/bench_history_scale.sh and the tests.

    made_history.py FOLDER NIGHTS [WORKLOADS SIZES VARIANTS]

Each workload has SIZES sizes in two types. A benchmark has four rows a night, and VARIANTS of its kernel. Its times
differ by a per cent or so from night to night, by nothing that is random."""
import datetime
import os
import re
import sys

LEVELS = 17  # nights after which times are the same again
START = datetime.datetime(2016, 1, 1, 2)


def columns(path='reports/columns.def'):
    text = open(path).read()
    return re.findall(r'^COLUMN\(\w+, (\w+)\)', text, re.M), re.findall(r'^SCHEMA\((\d+),', text, re.M)[-1]


class History:
    def __init__(self, folder, workloads, sizes, variants, together=False):
        self.folder, self.workloads, self.sizes, self.variants, self.together = folder, workloads, sizes, variants, together
        self.columns, self.schema = columns()
        self.benchmarks = workloads * sizes * 2
        self.rows = 0
        self.texts = {}
        os.makedirs(folder, exist_ok=True)

    def files(self):
        return sorted(os.path.join(self.folder, f) for f in os.listdir(self.folder) if f.endswith('.csv'))

    def bytes(self):
        return sum(map(os.path.getsize, self.files()))

    def line(self, values):
        return ','.join(values.get(c, '') for c in self.columns) + '\n'

    def rows_of(self, workload, level):
        """Of one night; '<run>' and the like stand for what differs between nights of a level."""
        common = {
            'schema': self.schema, 'run_id': '<run>', 'timestamp': '<time>', 'git_rev': '<commit>', 'host': 'nightly-1',
            'device': 'NVIDIA H200', 'arch': 'sm_90a', 'driver': '580.65', 'toolchain': 'NVRTC 13.0.88',
            'timer': 'cupti', 'workload': 'workload_%03d' % workload, 'mode': 'fwd', 'status': 'ok', 'n': '200',
            'clock_mhz': '1980', 'temp_c': '41', 'throttle': 'none', 'precision': 'f32', 'weights': 'fixed',
            'graph': '51eccb75fb41c713'}
        text = []
        for i in range(self.sizes):
            size = 512 << i
            for dtype in ('f32', 'bf16'):
                case = dict(common, dtype=dtype, axes='dim=%d rows=4096' % size, bytes=str(size * 32768),
                            flops=str(size * 20480))
                best = size / 120 * (1 + workload / 50) * (1 + (level * 5 + i) % LEVELS / 2000)

                def row(us, **more):
                    return self.line(dict(
                        case, median_us='%.5g' % us, q1_us='%.5g' % (us * .995), q3_us='%.5g' % (us * 1.006),
                        min_us='%.5g' % (us * .98), ci_us='%.4g' % (us * .003), gbps='%.6g' % (size * 32.768 / us),
                        tflops='%.6g' % (size * .02048 / us), roof_pct='%.4g' % (size * .76 / us),
                        kernels_us='%.5g' % us, span_us='%.5g' % us, **more))
                for v in range(self.variants):
                    text.append(row(best * (1 + v * 37 % self.variants / 60), kernel='k_amax_sub_exp_sum_div_0',
                                    config='x=1 r=4096 warps=%d vec=%d keep=1' % (1 << v % 6, 1 << v // 6 % 4),
                                    role='variant', is_winner=str(int(v == 0)), occupancy='0.625', regs='48',
                                    smem_bytes='32', compile_ms='84.91801'))
                text.append(self.line(dict(case, kernel='program', role='roof', is_winner='0', gbps='4312', tflops='990')))
                for role, times in (('eager', 2.1), ('default', 1.04), ('tuned', 1)):
                    text.append(row(best * times, kernel='program', role=role, is_winner='0', trials='46',
                                    tuning_s='12.52', compile_s='1.3', check_s='3.58', measure_s='7.61',
                                    reference='eval'))
        return ''.join(text)

    def add(self, night):
        when = START + datetime.timedelta(days=night)
        named = {'<run>': when.strftime('%Y%m%dT%H%M%SZ.1'), '<time>': when.strftime('%Y-%m-%dT%H:%M:%SZ'),
                 '<commit>': '%012x' % (night // 3 * 2654435761)}
        for workload in range(self.workloads):
            key = workload, night % LEVELS
            if key not in self.texts:
                self.texts[key] = self.rows_of(*key)
            text = self.texts[key]
            for word, value in named.items():
                text = text.replace(word, value)
            path = os.path.join(self.folder, 'all.csv' if self.together else 'workload_%03d.csv' % workload)
            with open(path, 'a') as f:
                if not f.tell():
                    f.write(','.join(self.columns) + '\n')
                f.write(text)
            self.rows += text.count('\n')


if __name__ == '__main__':
    numbers = [int(word) for word in sys.argv[2:]]
    made = History(sys.argv[1], *(numbers[1:] or (2, 2, 3)))
    for each in range(numbers[0]):
        made.add(each)
