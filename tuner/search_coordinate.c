/* search_coordinate.c: coordinate descent: try the neighbours of the best, move, and again.
 *
 *   x=1 warps=8 vec=8  ->  warps=4, warps=16, vec=4, x=2  ->  the best of these, if it is better
 *
 * Neighbours are the nearest configs of the legal space, as knobs are tied to each other: twice the
 * rows of a block go with twice its warps. */
#include <math.h>

#include "tuner/search.h"

enum { SEEDS = 4, NEIGHBOURS = 6 };
#define GAIN 0.005 /* less than this is no step */

static void mark_seen(const struct tune *t, bool *seen) {
    for (int i = 0; i < t->n; i++) seen[i] = search_seen(t, i);
}

enum ws_status search_coordinate(struct tune *t, struct diag *d) {
    struct search_space s = search_space_of(t);
    bool *seen = NEW_ARRAY(t->shared->arena, bool, t->n);
    int which[NEIGHBOURS], n = 0;
    for (; n < SEEDS && n < t->n; n++) which[n] = n;
    for (double before = INFINITY;;) {
        if (search_wave(t, which, n, d) != WS_OK || !search_goes_on(t)) return d->status;
        mark_seen(t, seen);
        int best = search_best(t);
        if (best >= 0 && t->best_us > (1 - GAIN) * before) return WS_OK;
        before = t->best_us;
        /* As long as nothing works, the model's next guesses are as good as any. */
        n = best >= 0 ? search_nearest(&s, best, seen, which, NEIGHBOURS) : 0;
        for (int i = 0; best < 0 && i < t->n && n < NEIGHBOURS; i++)
            if (!seen[i]) which[n++] = i;
        if (!n) return WS_OK;
    }
}
