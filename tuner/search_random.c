/* search_random.c: the default, then configs in random order: what a strategy has to beat. The
 * order is that of the run's seed, so that a run can be repeated. */
#include "tuner/search.h"

enum { MOST = 32 };

/* xorshift64*; good enough for a shuffle. */
static uint64_t next(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

enum ws_status search_random(struct tune *t, struct diag *d) {
    uint64_t state = t->shared->seed * 2 + 1;
    int *which = NEW_ARRAY(t->shared->arena, int, t->n);
    int most = t->n < MOST ? t->n : MOST, batch = tune_batch(t);
    for (int i = 0; i < t->n; i++) which[i] = i;
    for (int i = t->n - 1; i > 1; i--) {
        int j = 1 + (int)(next(&state) % (uint64_t)i), swap = which[i];
        which[i] = which[j];
        which[j] = swap;
    }
    for (int from = 0; from < most && search_goes_on(t); from += batch) {
        int n = from + batch < most ? batch : most - from;
        if (search_wave(t, which + from, n, d) != WS_OK) return d->status;
    }
    return d->status;
}
