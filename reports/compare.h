/* compare.h: did it get slower? Two runs, one verdict per benchmark, one exit code. */
#ifndef REPORTS_COMPARE_H
#define REPORTS_COMPARE_H

#include <stdio.h>

#include "reports/results.h"

enum verdict { VERDICT_SAME, VERDICT_FAST, VERDICT_SLOW, VERDICT_NOISY, VERDICT_BROKEN };

enum { COMPARE_MIN_SAMPLES = 5 };

/* Judge two measurements of the same thing; threshold is relative (0.02 = 2 %).
 *
 *   BROKEN  base was measured, now is not (wrong output, launch error, ...)
 *   NOISY   fewer than COMPARE_MIN_SAMPLES samples, no quartiles, or the medians differ by the
 * threshold while the quartile intervals overlap, or either median is known less well than the
 * threshold SLOW, FAST  two gates: the intervals [q1, q3] are disjoint AND the medians differ by at
 * least the threshold SAME    otherwise */
enum verdict compare_rows(const struct result_row *base, const struct result_row *now,
                          double threshold);

/* `warpsmith compare --base A.csv[@RUN] --new B.csv[@RUN] [--threshold 0.02]`; argv[0] is
 * "compare". RUN is a run id, last or prev; without one the newest row of every benchmark counts.
 * Returns the exit code: 0 same or faster, 1 a file is unreadable or foreign or a benchmark broke,
 * 2 usage or nothing in common, 4 slower, 5 too noisy to tell. */
int compare_command(int argc, char **argv, FILE *out, FILE *err);
int compare_main(int argc, char **argv);

#endif
