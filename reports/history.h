/* history.h: `warpsmith nightly judge` and `nightly accept`: a folder of results as a history.
 *
 * A benchmark is one (device, workload, mode, dtype, precision, weights, axes) and one way to
 * make the program (tuned, default, unfused). Its nights (nights.h) are those that measured it,
 * whatever else lies in the folder.
 *
 * The folder has, beside the results, a folder nightly/ with
 *
 *   nightly.md     what is said of the last night
 *   timeline.csv   a line for every benchmark and night, made anew each time: device, workload,
 *                  mode, dtype, precision, weights, axes, role, as in the results; night;
 *                  timestamp, git_rev, driver, toolchain, clock_mhz, temp_c of its first run;
 *                  runs; median_us; base_us, of the pinned baseline; recent_us, the median of the
 *                  seven nights before; change_pct, low_pct, high_pct against the baseline, with
 *                  the 95 % interval; confidence, 0.5 to 1; verdict, new, same, FASTER, SLOWER,
 *                  UNSURE or clock; shape, step or drift; since, the night that it began; starts,
 *                  1 where the baseline starts anew
 *   accepted.csv   the levels that `nightly accept` took for good: night, and the benchmark */
#ifndef REPORTS_HISTORY_H
#define REPORTS_HISTORY_H

#include <stdio.h>

#include "reports/nights.h"

enum { HISTORY_RECENT = 7 }; /* nights of recent_us */

struct history_request {
    const char *folder;
    const char *workload; /* of accept: this one's benchmarks only; NULL: all */
    double threshold;
};

/* What the newest night says. Returns the exit code: 0 fine, 1 a benchmark broke or is lost, or a
 * file is unreadable, 2 no such folder, 3 nightly/ cannot be written, 4 slower, 5 too noisy. */
int history_judge(const struct history_request *r, FILE *out, FILE *err);

/* Each benchmark that is slower now: its baseline starts where that began. 0, or as above. */
int history_accept(const struct history_request *r, FILE *out, FILE *err);

#endif
