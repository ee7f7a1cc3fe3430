/* stats.h: what a set of samples says, without assuming that noise is Gaussian: medians, quartiles
 * and order statistics. Samples are times in microseconds, finite and positive; order does not
 * matter. Nothing here allocates for the caller or keeps state. */
#ifndef TUNER_STATS_H
#define TUNER_STATS_H

#include <stdbool.h>

struct stats {
    int n; /* samples; 0 = not measured, and every number below is NAN */
    double median, q1, q3, min;
    double lo, hi; /* 95 % confidence interval of the median; the whole range if n < STATS_MIN_N */
};

enum { STATS_MIN_N = 6 }; /* the fewest samples that can give a 95 % interval of a median */

#define STATS_TIE 0.005     /* medians closer than this are equal: nobody feels half a percent */
#define STATS_TIE_MOST 0.05 /* and the fixed order may never cost more than this */

struct stats stats_none(void);
struct stats stats_of(const double *samples, int n);

/* The mean of the middle half of n > 0 samples, which it sorts: a clock that ticks coarsely is
 * averaged out, a spike is left out. */
double stats_middle_mean(double *samples, int n);

double stats_ci(const struct stats *s); /* half width of the interval, us; NAN if not measured */
double stats_rel_ci(const struct stats *s); /* the same over the median */

/* Is the median known to +-target_rel_ci (0.005 = 0.5 %), from at least min_n samples? The rule to
 * stop sampling by. */
bool stats_enough(const double *samples, int n, double target_rel_ci, int min_n);

/* Are the two equal as far as these samples can tell: the intervals overlap, or the medians differ
 * by less than STATS_TIE? Nothing is tied with what was not measured. */
bool stats_tied(const struct stats *a, const struct stats *b);

/* The winner of n candidates in their fixed order (that of the configs): the first one tied with
 * the lowest median and at most STATS_TIE_MOST above it. Two runs whose noise differs so choose the
 * same one. tied[i] (may be NULL) is set for the whole tie set, winner included. -1 if none was
 * measured. */
int stats_winner(const struct stats *candidates, int n, bool *tied);

/* NAN if n is 0 or any value is not positive. */
double stats_geomean(const double *values, int n);

#endif
