/* recurrence.c: all steps of a recurrence (loop/recurrence.c) as one group, whose kernel keeps what
 * is carried in registers.
 *
 *   512 steps of  b55, b56 = pointwise of b50, carried     kernel 6: recurrence over
 *                 b58 = sum of b56 over r0            ->             x[i0: 4, i1: 1536] r[i2: 16]
 *
 * Whatever is left for others covers x; sums are taken where they are read.
 *
 * Needs: order. Keeps it; breaks group indices held elsewhere, and memory. */
#include <string.h>

#include "schedule/schedule.h"

static bool is_left(const struct loops *l, const struct nest *n) {
    return l->buffers.at[n->out].kind == BUFFER_WINDOW;
}

static struct group make_group(const struct schedule *s, const struct recurrence *r) {
    const struct loops *l = s->loops;
    struct group g = {.recurrent = true, .second = NO_NEST, .twin = NO_NEST};
    g.n_x = r->n_x, g.n_r = r->n_r;
    memcpy(g.x, r->x, sizeof *g.x * (size_t)r->n_x);
    memcpy(g.r, r->r, sizeof *g.r * (size_t)r->n_r);
    for (uint32_t k = 0; k < r->nests.n; k++) {
        const struct recurrent_nest *of = &r->nests.at[k];
        const struct nest *n = &l->nests.at[of->nest];
        struct member m = {.nest = of->nest, .inlined = !is_left(l, n) && !n->n_reduce};
        if (!m.inlined) {
            m.n = of->n;
            memcpy(m.from, of->from, sizeof *m.from * (size_t)m.n);
            memcpy(m.to, of->to, sizeof *m.to * (size_t)m.n);
        }
        vec_push(s->arena, &g.members, m);
    }
    return g;
}

void schedule_recurrences(struct schedule *s) {
    const struct loops *l = s->loops;
    struct recurrence r;
    for (uint32_t loop = 0; l->recurs && loop < l->steps.n; loop++) {
        if (!l->recurs[loop]) continue;
        if (!loop_recurs(l, loop, &r)) WS_BUG("steps are no recurrence any more");
        struct group g = make_group(s, &r);
        schedule_join_steps(s, loop, g);
        for (uint32_t m = 0; m < g.members.n; m++)
            s->fixed[l->nests.at[g.members.at[m].nest].out] = false;
    }
}
