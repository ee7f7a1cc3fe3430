/* change.h: has a series of nights changed its level, since when, and how sure is that?
 *
 * Knows numbers only: one value a night, the logarithm of a time. A difference of two logarithms
 * is the logarithm of the ratio of the times, so that 2 % is the same at 5 us and at 5 ms.
 *
 * The baseline is the first CHANGE_PINNED nights from a start on: the first night, an accepted
 * one, or the first under another driver. It does not move with what comes after it, else a slow
 * drift would take it along, and a regression would be the new normal after a few nights. It
 * starts anew by itself where three nights are faster for certain.
 *
 * The last 1, 2, 3, 5 and 8 nights are held against it by two gates, which both must open: the
 * means differ by the threshold (nobody minds 0.3 %), and so many nights of nothing but noise
 * would differ as much in some 1 of 1,000 cases at most. The noise is what differs from night to
 * night: how samples of one run vary says little about it. One run may have met with anything:
 * three must agree, of one night or of several. */
#ifndef REPORTS_CHANGE_H
#define REPORTS_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    CHANGE_PINNED = 60,    /* most nights of a baseline */
    CHANGE_PRIOR = 4,      /* nights that the prior of the noise counts for */
    CHANGE_RUNS = 3,       /* fewest runs, of one night or of several, that make a change */
    CHANGE_CONFIRMED = 3,  /* nights that move the baseline when they are faster */
    CHANGE_TREND = 6,      /* fewest nights with a drift */
    CHANGE_TREND_MOST = 20 /* most nights that are looked at for one */
};
#define CHANGE_ALPHA 1e-3

enum change_verdict {
    CHANGE_NEW,    /* nothing to compare with yet */
    CHANGE_SAME,   /* no difference that passes both gates */
    CHANGE_FASTER, /* the level went down */
    CHANGE_SLOWER, /* the level went up, tonight or earlier, and is still there */
    CHANGE_UNSURE  /* slower by the threshold, and noise would be seldom, but not never */
};

enum change_shape { CHANGE_STEP, CHANGE_DRIFT };

/* What is known after a night. */
struct change {
    enum change_verdict verdict;
    enum change_shape shape; /* of FASTER and SLOWER */
    size_t since;            /* of these: the first night of the new level, or of the drift */
    size_t window;           /* how many of the last nights were held against the baseline */
    double base;             /* level of the baseline, a logarithm; NAN: none yet */
    size_t base_first, base_n;
    double shift, low, high; /* logarithm of the ratio, with its 95 % interval; NAN: no baseline */
    double confidence;       /* that it is a change in that direction at all, 0.5 to 1; else NAN */
    double noise;            /* standard deviation from night to night; NAN: no baseline */
};

/* One night in. */
struct change_night {
    double value; /* logarithm of the time */
    double prior; /* standard deviation that is expected before there are nights */
    size_t runs;  /* that it is the median of */
    bool starts;  /* the baseline starts anew here */
};

/* What is known after each of the n nights, from out[0] on. Nights are in their order. */
void change_follow(const struct change_night *nights, size_t n, double threshold,
                   struct change *out);

/* ---- two sides, a few runs each -------------------------------------------------------------- */

/* Means of two groups and what is known about their difference, by Student's t test. prior is
 * the standard deviation that is expected from run to run, and counts for CHANGE_PRIOR runs;
 * own[0..1] are the standard errors that each group's mean has for certain, of what was sampled
 * within runs. */
struct change_between {
    double shift, low,
        high;          /* of the second group's mean less the first's, and the 95 % interval */
    double confidence; /* that they differ in that direction, 0.5 to 1 */
};
struct change_between change_compare(const double *a, size_t n_a, const double *b, size_t n_b,
                                     double prior, const double own[2]);

/* P(T > t) of Student's distribution with so many degrees of freedom, 3 or more, to 1 % of
 * itself. */
double change_tail(double t, double freedom);

#endif
