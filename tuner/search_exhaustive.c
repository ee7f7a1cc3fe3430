/* search_exhaustive.c: try every config, best guess first.
 *
 * The spaces that kernel/space.c proposes are some dozens to hundreds of configs, of which the cost
 * model has already pruned the hopeless ones: a search that leaves out more has nothing to gain. */
#include "tuner/tune.h"

enum ws_status search_exhaustive(struct tune *t, struct diag *d) {
    int batch = tune_batch(t);
    for (int from = 0; from < t->n && search_goes_on(t); from += batch) {
        int to = from + batch < t->n ? from + batch : t->n;
        if (tune_build(t, from, to, d) != WS_OK) return d->status;
        for (int i = from; i < to && search_goes_on(t); i++)
            if (trial_run(t, &t->variants[i], d) != WS_OK) return d->status;
    }
    return d->status;
}
