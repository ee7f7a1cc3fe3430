/* stats.c: robust statistics by sorting.
 *
 *   9.8 9.9 10.0 10.1 10.2 10.3 10.4 31.0   ->   median 10.15, quartiles 9.975 .. 10.325, min 9.8,
 *                                                interval of the median 9.8 .. 31.0 at n = 8
 *
 * The interval needs no model of the noise: a sample is below the median with probability 1/2, so
 * how many are is binomial, and the j-th smallest and j-th largest samples enclose the median with
 * probability 1 - 2 P(B(n, 1/2) < j) (Conover, Practical Nonparametric Statistics, 3.2). */
#include "tuner/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ws.h"

enum { EXACT_N = 200 }; /* beyond, the binomial distribution is normal for our purpose */

struct stats stats_none(void) {
    return (struct stats){0, NAN, NAN, NAN, NAN, NAN, NAN};
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear between samples, as numpy's quantile is. */
static double quantile(const double *sorted, int n, double p) {
    double at = p * (n - 1);
    int i = (int)at;
    return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

/* The largest j with P(B(n, 1/2) < j) <= 0.025; 0 if there is none. */
static int interval_rank(int n) {
    if (n > EXACT_N) return (int)floor(0.5 * n - 0.98 * sqrt(n));
    double term = pow(0.5, n), below = 0; /* term = P(B == j) */
    int j = 0;
    for (; below + term <= 0.025; j++) {
        below += term;
        term *= (double)(n - j) / (j + 1);
    }
    return j;
}

struct stats stats_of(const double *samples, int n) {
    if (n <= 0) return stats_none();
    double *sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted) WS_BUG("out of memory for %d samples", n);
    memcpy(sorted, samples, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
    int j = interval_rank(n);
    struct stats s = {
        .n = n,
        .median = quantile(sorted, n, 0.5),
        .q1 = quantile(sorted, n, 0.25),
        .q3 = quantile(sorted, n, 0.75),
        .min = sorted[0],
        .lo = sorted[j > 0 ? j - 1 : 0],
        .hi = sorted[j > 0 ? n - j : n - 1],
    };
    free(sorted);
    return s;
}

double stats_middle_mean(double *samples, int n) {
    double sum = 0;
    int cut = n / 4;
    qsort(samples, (size_t)n, sizeof *samples, compare_doubles);
    for (int i = cut; i < n - cut; i++) sum += samples[i];
    return sum / (n - 2 * cut);
}

double stats_ci(const struct stats *s) { return s->n ? (s->hi - s->lo) / 2 : NAN; }
double stats_rel_ci(const struct stats *s) { return s->n ? stats_ci(s) / s->median : NAN; }

bool stats_enough(const double *samples, int n, double target_rel_ci, int min_n) {
    if (n < min_n || n < STATS_MIN_N) return false;
    struct stats s = stats_of(samples, n);
    return stats_rel_ci(&s) <= target_rel_ci;
}

bool stats_tied(const struct stats *a, const struct stats *b) {
    if (!a->n || !b->n) return false;
    bool overlap = a->lo <= b->hi && b->lo <= a->hi;
    return overlap || fabs(a->median - b->median) < STATS_TIE * fmin(a->median, b->median);
}

static int lowest_median(const struct stats *c, int n) {
    int best = -1;
    for (int i = 0; i < n; i++)
        if (c[i].n && (best < 0 || c[i].median < c[best].median)) best = i;
    return best;
}

int stats_winner(const struct stats *candidates, int n, bool *tied) {
    int best = lowest_median(candidates, n), winner = -1;
    for (int i = 0; i < n; i++) {
        bool in = best >= 0 && stats_tied(&candidates[i], &candidates[best]) &&
                  candidates[i].median <= (1 + STATS_TIE_MOST) * candidates[best].median;
        if (tied) tied[i] = in;
        if (in && winner < 0) winner = i;
    }
    return winner;
}

double stats_geomean(const double *values, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        if (!(values[i] > 0)) return NAN;
        sum += log(values[i]);
    }
    return n > 0 ? exp(sum / n) : NAN;
}
