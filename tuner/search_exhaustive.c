/* search_exhaustive.c: try every config, best guess first.
 *
 * The spaces that kernel/space.c proposes are some dozens to hundreds of configs, of which the cost
 * model has already pruned the hopeless ones: a search that leaves out more has nothing to gain. */
#include "tuner/tune.h"

enum ws_status search_exhaustive(struct tune *t, struct diag *d) {
    for (int i = 0; i < t->n && search_goes_on(t) && d->status == WS_OK; i++)
        trial_run(t, &t->variants[i], d);
    return d->status;
}
