/* compare.h: did it get slower? Two runs, one verdict per benchmark, one exit code. */
#ifndef REPORTS_COMPARE_H
#define REPORTS_COMPARE_H

#include <stdio.h>

#include "reports/results.h"

enum verdict { VERDICT_SAME, VERDICT_FASTER, VERDICT_SLOWER, VERDICT_UNSURE, VERDICT_BROKEN };

enum { COMPARE_MIN_SAMPLES = 5 };
/* What medians of two runs of the same differ by, a standard deviation: twenty runs on an H200 lie
 * within 0.3 to 0.6 % (reports/samples/repeat_h200.csv). Where samples
 * scatter more, so do runs: a quarter of that is taken, if it is more. */
#define COMPARE_RUNS_DIFFER 0.0025

struct judgement {
    enum verdict verdict;
    double low, high;  /* 95 % interval of new over base, less 1; NAN: not known */
    double confidence; /* that it changed in that direction at all */
};

/* Judge two measurements of the same thing; threshold is relative (0.02 = 2 %).
 *
 *   BROKEN          base was measured, now is not (wrong output, launch error, ...)
 *   UNSURE          fewer than COMPARE_MIN_SAMPLES samples, no quartiles, or the medians differ by
 *                   the threshold while the interval has 0 in it, or either median is known less
 *                   well than the threshold
 *   SLOWER, FASTER  two gates: the interval is without 0 AND the medians differ by at least the
 *                   threshold
 *   SAME            otherwise */
struct judgement compare_rows(const struct result_row *base, const struct result_row *now,
                              double threshold);

struct compare_request {
    const char *base, *now; /* A.csv[@RUN]: a run id; last, the newest run; prev, what was
                              measured before it of the same; without one the newest rows */
    double threshold;
    bool json; /* to out; what people read goes to err then */
};

/* Returns the exit code: 0 same or faster, 1 a file is unreadable or foreign, or a benchmark
 * broke or is in the base alone, 2 nothing in common or no such run, 3 the output could not be
 * written, 4 slower, 5 too noisy to tell. */
int compare_files(const struct compare_request *r, FILE *out, FILE *err);

#endif
