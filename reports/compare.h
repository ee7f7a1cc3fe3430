/* compare.h: did it get slower? Two runs, one verdict per benchmark, one exit code. */
#ifndef REPORTS_COMPARE_H
#define REPORTS_COMPARE_H

#include <stdio.h>

#include "reports/results.h"

enum verdict { VERDICT_SAME, VERDICT_FAST, VERDICT_SLOW, VERDICT_NOISY, VERDICT_BROKEN };

enum { COMPARE_MIN_SAMPLES = 5 };

/* Judge two measurements of the same thing; threshold is relative (0.02 = 2 %).
 *
 *   BROKEN      base was measured, now is not (wrong output, launch error, ...)
 *   NOISY       fewer than COMPARE_MIN_SAMPLES samples, no quartiles, or the medians differ by the
 *               threshold while the quartile intervals overlap, or either median is known less well
 *               than the threshold
 *   SLOW, FAST  two gates: the intervals [q1, q3] are disjoint AND the medians differ by at least
 *               the threshold
 *   SAME        otherwise */
enum verdict compare_rows(const struct result_row *base, const struct result_row *now,
                          double threshold);

struct compare_request {
    const char *base, *now; /* A.csv[@RUN]: a run id, last or prev; without one the newest rows */
    double threshold;
    bool json; /* to out; what people read goes to err then */
};

/* Returns the exit code: 0 same or faster, 1 a file is unreadable or foreign or a benchmark broke,
 * 2 nothing in common or no such run, 3 the output could not be written, 4 slower, 5 too noisy to
 * tell. */
int compare_files(const struct compare_request *r, FILE *out, FILE *err);

#endif
