/* compare.h: did it get slower? Two sides, one verdict per benchmark, one exit code. */
#ifndef REPORTS_COMPARE_H
#define REPORTS_COMPARE_H

#include <stdio.h>

#include "reports/results.h"

enum verdict { VERDICT_SAME, VERDICT_FASTER, VERDICT_SLOWER, VERDICT_UNSURE, VERDICT_BROKEN };

enum { COMPARE_MIN_SAMPLES = 5 };
/* What medians of two runs of the same differ by, a standard deviation: twenty runs on an H200 lie
 * within 0.3 to 0.6 % (reports/samples/repeat_h200.csv); RUNS_SCATTER of what samples scatter by,
 * if it is more. */
#define COMPARE_RUNS_DIFFER 0.0025

struct judgement {
    enum verdict verdict;
    double change;     /* of new over base, less 1 */
    double low, high;  /* its 95 % interval; NAN: not known */
    double confidence; /* that it changed in that direction at all */
};

/* Judge measurements of the same thing, of one run or of several a side; threshold is relative
 * (0.02 = 2 %).
 *
 *   BROKEN          base was measured, some run of now is not (wrong output, launch error, ...)
 *   UNSURE          fewer than COMPARE_MIN_SAMPLES samples, no quartiles, or the medians differ by
 *                   the threshold while the interval has 0 in it, or either is known less well
 *                   than the threshold, by its samples or, of several runs, by how they differ
 *   SLOWER, FASTER  two gates: the interval is without 0 AND the medians differ by at least the
 *                   threshold
 *   SAME            otherwise
 *
 * Of several runs the geometric mean of the medians counts. All base rows are measured ones. */
struct judgement compare_runs(const struct result_row *const *base, size_t n_base,
                              const struct result_row *const *now, size_t n_now, double threshold);
struct judgement compare_rows(const struct result_row *base, const struct result_row *now,
                              double threshold);

enum compare_output { COMPARE_TABLE, COMPARE_JSON, COMPARE_MARKDOWN };

struct compare_request {
    const char *const *base, *const *now; /* each of a side.h's FILE[@RUN] or FOLDER[@RUN] */
    size_t n_base, n_now;
    double threshold;
    enum compare_output output; /* to out; with JSON what people read goes to err */
};

/* Returns the exit code: 0 same or faster, 1 a file is unreadable or foreign, or a benchmark
 * broke or is in the base alone, 2 nothing in common or no such run, 3 the output could not be
 * written, 4 slower, 5 too noisy to tell. */
int compare_files(const struct compare_request *r, FILE *out, FILE *err);

#endif
