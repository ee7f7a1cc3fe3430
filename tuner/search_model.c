/* search_model.c: Bayesian optimisation: a Gaussian process over the knobs predicts the logarithm
 * of the time of every config, and how sure that is; what is tried next is where the expected
 * improvement over the best is largest (Jones, Schonlau and Welch, Efficient global optimization,
 * 1998).
 *
 *   the cost model's first 5, 3 far from these and from each other,
 *   then waves of 8, until 24 are seen; where a wave takes long one alone, or as long as they gain:
 *     in the first of them the best so far with one switch turned over, up to 4,
 *     what would be about the best if a switch did to it what it did to others,
 *     and others, chosen one after the other, each as if the former had come out as predicted
 *
 * The wave is what compiles at the same time; of larger ones, which learn less from each other, the
 * same bench finds other winners more often. Where there are cores left, what may be asked for next
 * is compiled beside the first wave; and where compiling takes long the second wave is chosen from
 * it. With some dozens of points the linear algebra takes microseconds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/search.h"

enum { GUESSES = 5, FAR = 3, SIBLINGS = 4, WAVE = 8, MOST = 24, MOST_DEAR = 16 };

#define LENGTH 1.2 /* over which times are alike, in standard deviations of a knob */
#define NOISE 0.01 /* variance of a time that the knobs do not explain, of that of all */
#define RANK_SLOPE                                                                                 \
    0.05           /* the cost model's last guess is expected to be 5 % slower than its first */
#define WORST 0.7  /* log of how much slower than the best a time counts as, at most */
#define GAIN 0.003 /* log of an improvement worth having */
#define LEAST_SPREAD 0.05 /* standard deviation of log times, at least */
#define HOPE 0.0005       /* expected improvement below which the search ends */
#define DEAR_MS 1500.0    /* of a wave: compiling it on cores enough, then its trials */
#define SLOW_COMPILE_MS 1000.0
#define WORTH 0.01 /* what another wave that takes long is asked for by: the gain of the last */

struct process {
    struct search_space space;
    int seen[MOST + WAVE], n; /* those of known or supposed time */
    int known;                /* of these, how many are known */
    double log_us[MOST + WAVE];
    double factor[MOST + WAVE][MOST + WAVE]; /* Cholesky, lower */
    double weight[MOST + WAVE];              /* K^-1 (y - mean) */
    double mean, deviation, best;
    double length2; /* 2 * LENGTH^2, for the number of dimensions */
    bool *passed;   /* those that are not to be chosen */
};

static const struct config *config_of(const struct tune *t, int i) { return t->variants[i].config; }

static double prior(const struct process *p, int i) {
    return p->space.n > 1 ? RANK_SLOPE * i / (p->space.n - 1) : 0;
}

static double kernel(const struct process *p, int i, int j) {
    return exp(-search_distance2(&p->space, i, j) / p->length2);
}

/* factor * factor^T = K + NOISE * 1 */
static void factorise(struct process *p) {
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = kernel(p, p->seen[i], p->seen[j]) + (i == j ? NOISE : 0);
            for (int k = 0; k < j; k++) sum -= p->factor[i][k] * p->factor[j][k];
            p->factor[i][j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / p->factor[j][j];
        }
}

/* x = factor^-1 x, then, if whole, factor^-T x */
static void solve(const struct process *p, double *x, bool whole) {
    for (int i = 0; i < p->n; i++) {
        for (int k = 0; k < i; k++) x[i] -= p->factor[i][k] * x[k];
        x[i] /= p->factor[i][i];
    }
    for (int i = p->n; whole && i-- > 0;) {
        for (int k = i + 1; k < p->n; k++) x[i] -= p->factor[k][i] * x[k];
        x[i] /= p->factor[i][i];
    }
}

static void fit(struct process *p) {
    double sum = 0, squares = 0;
    p->best = INFINITY;
    for (int i = 0; i < p->n; i++) p->best = fmin(p->best, p->log_us[i]);
    for (int i = 0; i < p->n; i++) {
        p->weight[i] = fmin(p->log_us[i], p->best + WORST) - prior(p, p->seen[i]);
        sum += p->weight[i];
    }
    p->mean = sum / p->n;
    for (int i = 0; i < p->n; i++) {
        p->weight[i] -= p->mean;
        squares += p->weight[i] * p->weight[i];
    }
    p->deviation = fmax(sqrt(squares / p->n), LEAST_SPREAD);
    factorise(p);
    solve(p, p->weight, true);
}

/* Mean and standard deviation of the log time of variant i. */
static void predict(const struct process *p, int i, double *mean, double *deviation) {
    double k[MOST + WAVE], explained = 0;
    *mean = p->mean + prior(p, i);
    for (int j = 0; j < p->n; j++) {
        k[j] = kernel(p, i, p->seen[j]);
        *mean += k[j] * p->weight[j];
    }
    solve(p, k, false);
    for (int j = 0; j < p->n; j++) explained += k[j] * k[j];
    *deviation = p->deviation * sqrt(fmax(1 - explained, 1e-9));
}

static double expected_improvement(const struct process *p, double mean, double deviation) {
    double z = (p->best - GAIN - mean) / deviation;
    double below = 0.5 * erfc(-z / sqrt(2)), density = exp(-z * z / 2) / sqrt(2 * M_PI);
    return deviation * (z * below + density);
}

/* ---- the search ------------------------------------------------------------------------------ */

static void suppose(struct process *p, int i, double log_us) {
    p->seen[p->n] = i;
    p->log_us[p->n++] = log_us;
}

static bool was_timed(const struct tune *t, int i) {
    return !variant_refused(&t->variants[i]) && t->variants[i].timing.us.n;
}

/* What was refused is as bad as the worst. */
static void learn(struct process *p, const struct tune *t, const int *tried, int n) {
    p->n = 0;
    for (int i = 0; i < n; i++) {
        const struct variant *v = &t->variants[tried[i]];
        bool timed = was_timed(t, tried[i]);
        if (timed || variant_refused(v))
            suppose(p, tried[i], timed ? log(v->timing.us.median) : log(t->best_us) + WORST);
    }
    p->known = p->n;
}

/* The best of what is not seen; -1 if nothing promises to be worth a trial. */
static int choose(const struct process *p, const bool *seen, double *mean) {
    int best = -1;
    double most = HOPE;
    for (int i = 0; i < p->space.n; i++) {
        double m, deviation;
        if (seen[i] || p->passed[i]) continue;
        predict(p, i, &m, &deviation);
        double gain = expected_improvement(p, m, deviation);
        if (gain > most) most = gain, best = i, *mean = m;
    }
    return best;
}

/* The one knob in which a and b differ, a switch: 0 in one of them and 1 in the other; KNOB_COUNT:
 * they are no such pair. Hints are switches, and some other knobs. */
static enum knob switch_between(const struct config *a, const struct config *b) {
    enum knob found = KNOB_COUNT;
    for (enum knob k = 0; k < KNOB_COUNT; k++) {
        if (a->knob[k] == b->knob[k]) continue;
        if (found != KNOB_COUNT || a->knob[k] + b->knob[k] != 1) return KNOB_COUNT;
        found = k;
    }
    return found;
}

static bool is_sibling(const struct tune *t, int i, int of) {
    return switch_between(config_of(t, i), config_of(t, of)) != KNOB_COUNT;
}

/* The fastest of those that this search has asked for; -1: none was timed. */
static int best_known(const struct process *p, const struct tune *t) {
    int best = -1;
    for (int i = 0; i < p->known; i++)
        if (was_timed(t, p->seen[i]) && (best < 0 || p->log_us[i] < p->log_us[best])) best = i;
    return best < 0 ? -1 : p->seen[best];
}

/* The best so far with one switch turned over: a pair tells what it does, for others as well. */
static int choose_siblings(struct process *p, const struct tune *t, bool *seen, int *which) {
    int n = 0, best = best_known(p, t);
    for (int i = 0; i < p->space.n && n < SIBLINGS && best >= 0; i++) {
        double mean, deviation;
        if (seen[i] || p->passed[i] || !is_sibling(t, i, best)) continue;
        fit(p);
        predict(p, i, &mean, &deviation);
        seen[which[n++] = i] = true;
        suppose(p, i, mean);
    }
    return n;
}

/* By how much each switch, from 0 to 1, has changed the log time: the mean of all pairs; NAN if
 * there is none. */
static void learn_switches(const struct process *p, const struct tune *t, double *by) {
    int pairs[KNOB_COUNT] = {0};
    double sum[KNOB_COUNT] = {0};
    for (int i = 0; i < p->known; i++)
        for (int j = 0; j < p->known; j++) {
            const struct config *a = config_of(t, p->seen[i]), *b = config_of(t, p->seen[j]);
            enum knob s = switch_between(a, b);
            if (s == KNOB_COUNT || a->knob[s]) continue;
            if (!was_timed(t, p->seen[i]) || !was_timed(t, p->seen[j])) continue;
            sum[s] += p->log_us[j] - p->log_us[i], pairs[s]++;
        }
    for (enum knob k = 0; k < KNOB_COUNT; k++) by[k] = pairs[k] ? sum[k] / pairs[k] : NAN;
}

/* What a switch did to others it may do to one whose sibling was seen: those that would then be
 * about the best, the best first. The process alone expects it to do little far from where it was.
 */
static int choose_by_analogy(struct process *p, const struct tune *t, bool *seen, int *which,
                             int n) {
    double by[KNOB_COUNT], best = log(t->best_us);
    learn_switches(p, t, by);
    while (n < WAVE) {
        int found = -1;
        double least = best + GAIN;
        for (int i = 0; i < p->space.n; i++)
            for (int j = 0; j < p->known && !seen[i] && !p->passed[i]; j++) {
                enum knob s = switch_between(config_of(t, i), config_of(t, p->seen[j]));
                if (s == KNOB_COUNT || isnan(by[s]) || !was_timed(t, p->seen[j])) continue;
                double log_us = p->log_us[j] + (config_of(t, i)->knob[s] ? by[s] : -by[s]);
                if (log_us < least) least = log_us, found = i;
            }
        if (found < 0) break;
        best = fmin(best, least);
        seen[which[n++] = found] = true;
        suppose(p, found, least);
    }
    return n;
}

static int choose_wave(struct process *p, bool *seen, int *which, int n) {
    while (n < WAVE) {
        double mean = 0;
        fit(p);
        int i = choose(p, seen, &mean);
        if (i < 0) break;
        seen[which[n++] = i] = true;
        suppose(p, i, mean);
    }
    return n;
}

/* The cost model's guesses, and some to learn what the knobs do. */
static int guess(const struct search_space *s, bool *seen, int *which) {
    int n = 0;
    for (; n < GUESSES && n < s->n; n++) seen[which[n] = n] = true;
    for (int i; n < GUESSES + FAR && (i = search_farthest(s, seen)) >= 0;)
        seen[which[n++] = i] = true;
    return n;
}

int search_model_first(const struct tune *t, int *which) {
    struct search_space s = search_space_of(t);
    return guess(&s, NEW_ARRAY(t->shared->arena, bool, t->n), which);
}

int search_model_next(const struct tune *t, int *which, int most) {
    struct search_space s = search_space_of(t);
    bool *seen = NEW_ARRAY(t->shared->arena, bool, t->n);
    int first[GUESSES + FAR], n = 0, siblings = 0;
    guess(&s, seen, first);
    if (most > MOST_DEAR - WAVE) most = MOST_DEAR - WAVE;
    for (int i = 0; i < t->n && n < most && siblings < SIBLINGS; i++)
        if (!seen[i] && is_sibling(t, i, 0)) seen[which[n++] = i] = true, siblings++;
    for (int i = 0; i < t->n && n < most; i++)
        if (!seen[i]) seen[which[n++] = i] = true;
    return n;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of those of n that were compiled; 0: none is known. */
static double compile_ms_of(const struct tune *t, const int *tried, int n) {
    double ms[MOST + WAVE] = {0};
    int known = 0;
    for (int i = 0; i < n; i++)
        if (t->variants[tried[i]].compile_ms > 0) ms[known++] = t->variants[tried[i]].compile_ms;
    qsort(ms, (size_t)known, sizeof *ms, by_value);
    return known ? ms[known / 2] : 0;
}

/* What the next wave is going to take, if it takes as long as these n have. */
static double wave_ms(const struct tune *t, const int *tried, int n) {
    double trials = 0;
    for (int i = 0; i < n; i++) trials += t->variants[tried[i]].trial_ms;
    return compile_ms_of(t, tried, n) + trials * WAVE / fmax(n, 1);
}

/* Where compilers take long the second wave is of what they have been given already, if that is
 * half a wave at least. */
static void pass_what_is_not_begun(struct process *p, const struct tune *t, const bool *seen,
                                   const int *tried, int n) {
    int begun = 0;
    for (int i = 0; i < t->n; i++) begun += !seen[i] && t->variants[i].binary_key != NULL;
    if (compile_ms_of(t, tried, n) < SLOW_COMPILE_MS || 2 * begun < WAVE) return;
    for (int i = 0; i < t->n; i++) p->passed[i] = !t->variants[i].binary_key;
}

/* How many are to be tried in all: where a wave takes long, and those so far have gained little or
 * wait for compilers, no more than there are. */
static int most_of(const struct tune *t, const int *tried, int n, bool second, double before_us) {
    bool gains = t->best_us < (1 - WORTH) * before_us;
    if (wave_ms(t, tried, n) <= DEAR_MS) return MOST;
    if (second) return MOST_DEAR;
    return gains && compile_ms_of(t, tried, n) < SLOW_COMPILE_MS ? MOST : 0;
}

static int next_wave(struct process *p, const struct tune *t, bool *seen, int *tried, int n,
                     bool second) {
    int *which = tried + n;
    memset(p->passed, 0, sizeof *p->passed * (size_t)t->n);
    learn(p, t, tried, n);
    if (!p->n) return 0;
    if (second) pass_what_is_not_begun(p, t, seen, tried, n);
    int more = second ? choose_siblings(p, t, seen, which) : 0;
    more = choose_by_analogy(p, t, seen, which, more);
    return choose_wave(p, seen, which, more);
}

enum ws_status search_model(struct tune *t, struct diag *d) {
    struct process *p = NEW(t->shared->arena, struct process);
    bool *seen = NEW_ARRAY(t->shared->arena, bool, t->n);
    int tried[MOST + WAVE];
    p->space = search_space_of(t);
    p->passed = NEW_ARRAY(t->shared->arena, bool, t->n);
    p->length2 = LENGTH * LENGTH * fmax(1, p->space.dims);
    double before_us = INFINITY;
    int n = guess(&p->space, seen, tried), waves = 1;
    if (search_wave(t, tried, n, d) != WS_OK) return d->status;
    if (t->hint >= 0 && !seen[t->hint]) seen[tried[n++] = t->hint] = true; /* and was tried */
    /* While nothing works there is nothing to learn from: the guesses go on. */
    for (int i = GUESSES; i < t->n && !(t->best_us < INFINITY) && search_goes_on(t); i++)
        if (search_wave(t, &i, 1, d) != WS_OK) return d->status;
    for (; n < MOST && search_goes_on(t) && t->best_us < INFINITY; waves++) {
        int most = most_of(t, tried, n, waves == 1, before_us);
        int more = next_wave(p, t, seen, tried, n, waves == 1);
        if (more > most - n) more = most - n;
        if (more <= 0) break;
        before_us = t->best_us;
        if (t->pause_after && waves >= t->pause_after)
            return tune_begin(t, tried + n, more < t->trials_left ? more : t->trials_left, d);
        if (search_wave(t, tried + n, more, d) != WS_OK) return d->status;
        n += more;
    }
    return d->status;
}
