/* search_halving.c: successive halving: time all for a moment, keep the better half, time these for
 * twice as long, and again, until a handful is left that is timed in full (Jamieson and Talwalkar,
 * Non-stochastic best arm identification, 2016).
 *
 *   76 configs x 2 samples  ->  38 x 4  ->  19 x 8  ->  9 in full */
#include <stdlib.h>

#include "tuner/search.h"

enum { FIRST = 2 /* samples */, ENOUGH = 9 };

static int by_time(const void *a, const void *b) {
    const struct variant *x = *(struct variant *const *)a, *y = *(struct variant *const *)b;
    double p = x->timing.us.min, q = y->timing.us.min;
    return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

/* Those that can still win, fastest first. */
static int sort_survivors(struct variant **left, int n) {
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (!variant_refused(left[i]) && left[i]->timing.us.n) left[kept++] = left[i];
    qsort(left, (size_t)kept, sizeof *left, by_time);
    return kept;
}

static enum ws_status race(struct tune *t, struct variant **left, int n, int samples,
                           struct diag *d) {
    for (int i = 0; i < n && search_goes_on(t); i++)
        if (trial_glance(t, left[i], samples, d) != WS_OK) return d->status;
    return d->status;
}

enum ws_status search_halving(struct tune *t, struct diag *d) {
    struct variant **left = NEW_ARRAY(t->shared->arena, struct variant *, t->n);
    int *which = NEW_ARRAY(t->shared->arena, int, t->n);
    int n = t->n < t->trials_left ? t->n : t->trials_left;
    if (n < 1) n = 1;
    for (int i = 0; i < n; i++) which[i] = i, left[i] = &t->variants[i];
    if (tune_build(t, which, n, d) != WS_OK) return d->status;
    for (int samples = FIRST; n > ENOUGH && search_goes_on(t); samples *= 2) {
        if (race(t, left, n, samples, d) != WS_OK) return d->status;
        n = sort_survivors(left, n);
        n = n / 2 > ENOUGH ? n / 2 : n < ENOUGH ? n : ENOUGH;
    }
    for (int i = 0; i < n && search_goes_on(t); i++)
        if (trial_run(t, left[i], d) != WS_OK) return d->status;
    return d->status;
}
