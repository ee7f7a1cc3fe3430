/* search_exhaustive.c: try every config, best guess first. What the others are measured by. */
#include "tuner/search.h"

enum ws_status search_exhaustive(struct tune *t, struct diag *d) {
    int batch = tune_batch(t);
    int *which = NEW_ARRAY(t->shared->arena, int, t->n);
    for (int i = 0; i < t->n; i++) which[i] = i;
    for (int from = 0; from < t->n && search_goes_on(t); from += batch) {
        int n = from + batch < t->n ? batch : t->n - from;
        if (search_wave(t, which + from, n, d) != WS_OK) return d->status;
    }
    return d->status;
}
