"""torch.utils.benchmark: how long a statement takes, by the clock."""
from _warpsmith import run_text
from time import perf_counter


class Measurement:
    def __init__(self, number_per_run, times, description):
        self.number_per_run, self.raw_times, self._description = number_per_run, times, description

    @property
    def times(self):
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self):
        return sum(self.times) / len(self.times)

    @property
    def median(self):
        times = sorted(self.times)
        half = len(times) // 2
        return times[half] if len(times) % 2 else (times[half - 1] + times[half]) / 2

    def __repr__(self):
        return (f'<torch.utils.benchmark.utils.common.Measurement object>\n{self._description}\n  {self.median * 1e6:.2f} us\n'
                f'  {len(self.raw_times)} measurements, {self.number_per_run} runs per measurement')


class Timer:
    def __init__(self, stmt='pass', setup='pass', global_setup='', timer=perf_counter, globals=None, label=None,
                 sub_label=None, description=None, env=None, num_threads=1, language=None):
        body = '\n'.join(['        ' + line for line in stmt.split('\n')])
        names = run_text('<timer>', setup + '\n', dict(globals or {}))
        text = f'def timed(n):\n    for _ in range(n):\n{body}\n'
        self._timed, self._timer = run_text('<timer>', text, names)['timed'], timer
        self._description = label or stmt

    def _take(self, n):
        start = self._timer()
        self._timed(n)
        return self._timer() - start

    def timeit(self, number=1000000):
        self._take(number // 100 or 2)
        return Measurement(number, [self._take(number)], self._description)

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        number, took = 1, self._take(1)
        while took < min_run_time / 1000 and number < 10 ** 6:
            number *= 10
            took = self._take(number)
        times = [took]
        while sum(times) < min_run_time:
            times.append(self._take(number))
        return Measurement(number, times, self._description)

    adaptive_autorange = blocked_autorange
