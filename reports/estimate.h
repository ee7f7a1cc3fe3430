/* estimate.h: a measured number with what is known of it, and how it is written. */
#ifndef REPORTS_ESTIMATE_H
#define REPORTS_ESTIMATE_H

#include <stddef.h>

#include "reports/results.h"

/* NAN where not measured. low and high bound it with 95 % confidence; both NAN: nobody knows how
 * well. */
struct estimate {
    double value, low, high;
};

/* Half of the 95 % confidence interval of the median, in us: what came with the row, else the notch
 * of McGill, Tukey and Larsen (1978), 1.57 IQR / sqrt(n); NAN if the row says neither. */
double row_half_us(const struct result_row *r);

/* The standard deviation of the samples, by their quartiles, relative to the median. */
double row_scatter(const struct result_row *r);

/* Where samples scatter, so do the medians of runs: a standard deviation of so much of it is
 * expected. A kernel whose samples scatter by 3 % had nights that differ by 0.2 %
 * (reports/samples/nights_h200.csv). */
#define RUNS_SCATTER 0.25

/* Both without gaps, in own, if one of them is of before schema 3: their times did not mean the
 * same. */
void rows_alike(const struct result_row **a, const struct result_row **b, struct result_row own[2]);

/* A time that is known worse than this is unsteady: its figure is hatched, and its ratios have no
 * decimals that mean nothing. */
#define UNSTEADY_SHARE 0.05
bool row_unsteady(const struct result_row *r);

struct estimate row_time(const struct result_row *r); /* us */

/* How many times as fast as `from` is `to`. The bounds are those that any two times within their
 * intervals may have, which is wider than 95 %. high is INFINITY where the interval of `to` reaches
 * 0. */
struct estimate speedup_of(const struct result_row *from, const struct result_row *to);

/* 1: faster in the whole interval; -1: slower; 0: may be either, or nobody knows. */
int speedup_sign(const struct estimate *s);

/* Of times, which it sorts; of two in the middle the geometric mean. NAN: there are none. */
double median_time(double *us, size_t n);

/* "1.84", "1.8" or "2": only decimals that the interval knows; "~2" where it is wider than a tenth.
 */
void put_ratio(struct text *out, const struct estimate *s);
/* "36.96 µs", "1.21 ms", "0.62 s". */
void put_us(struct text *out, double us);
/* "1 234 567", with a narrow no-break space between thousands. */
void put_thousands(struct text *out, double v, int decimals);

#endif
