/* persistent.c: all steps of a loop as one group, whose kernel stays on the device from the first
 * to the last.
 *
 *   517 steps of  b45 = bmm of b39, carried           kernel 6: steps over x[i0: 6, i1: 10,
 *                 b59, b60 = pointwise of b45    ->            i2: 256] r[r0: 256]
 *
 * Where a step is pointwise operations on products of what is carried, or of what it makes of such
 * products itself: elements of what it leaves are then the group's points, each of which makes
 * those elements of the products that it reads. Other loops keep a kernel for each group, of every
 * step.
 *
 * Needs: order. Keeps it; breaks group indices held elsewhere, and memory. */
#include <string.h>

#include "schedule/schedule.h"

/* What a step leaves: for others, or for products of the same step, which stand on sums as it does.
 */
static bool is_root(const struct loops *l, const struct nest *n, const bool *between) {
    return l->buffers.at[n->out].kind == BUFFER_WINDOW || between[n->out];
}

/* Per buffer: is it made of sums of a step, and read by products of it? All blocks have to have
 * left it then. */
static bool *find_between(const struct schedule *s, uint32_t loop) {
    const struct loops *l = s->loops;
    bool *between = NEW_ARRAY(s->arena, bool, l->buffers.n),
         *summed = NEW_ARRAY(s->arena, bool, l->buffers.n);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        if (loop_of(n->epoch) != loop) continue;
        summed[n->out] |= n->n_reduce > 0;
        for (uint32_t i = 0; i < n->insts.n; i++) {
            buffer_id b = n->insts.at[i].buffer;
            if (n->insts.at[i].kind != INST_LOAD || !summed[b]) continue;
            summed[n->out] = true;
            between[b] |= n->n_reduce > 0;
        }
    }
    return between;
}

static int64_t bound_of(const struct loops *l, ex axis) {
    int64_t size;
    return ex_is_const(l->ex, ex_symbol(l->ex, axis)->bound, &size) ? size : 0;
}

/* Is it a sum of products along one axis, or made element by element? */
static bool is_simple(const struct loops *l, const struct nest *n) {
    bool sum = n->n_reduce == 1 && n->insts.at[n->insts.n - 1].reduction == REDUCTION_SUM &&
               bound_of(l, n->reduce[0]) > 0;
    if (n->scan || (n->n_reduce && !sum)) return false;
    for (int i = 0; i < n->n_axes; i++)
        if (!bound_of(l, n->axes[i])) return false;
    for (uint32_t i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_SUBSCRIPT) return false;
    return true;
}

/* The nests of a loop's steps as one group; false if they are none. */
static bool make_group(const struct schedule *s, uint32_t loop, struct group *out) {
    const struct loops *l = s->loops;
    const struct nest *first = NULL, *product = NULL;
    const bool *between = find_between(s, loop);
    *out = (struct group){.persistent = true, .second = NO_NEST, .twin = NO_NEST};
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        if (loop_of(n->epoch) != loop) continue;
        if (!is_simple(l, n)) return false;
        if (n->n_reduce) {
            if (is_root(l, n, between)) return false;
            if (product && bound_of(l, product->reduce[0]) != bound_of(l, n->reduce[0]))
                return false;
            product = n;
        } else if (is_root(l, n, between)) {
            if (first && first->n_axes != n->n_axes) return false;
            for (int i = 0; first && i < n->n_axes; i++)
                if (bound_of(l, first->axes[i]) != bound_of(l, n->axes[i])) return false;
            if (!first) first = n;
        }
    }
    if (!first || !product || first->n_axes == 0) return false;
    out->n_x = first->n_axes;
    out->n_r = 1;
    memcpy(out->x, first->axes, sizeof *out->x * (size_t)first->n_axes);
    out->r[0] = product->reduce[0];
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        if (loop_of(n->epoch) != loop) continue;
        bool root = is_root(l, n, between);
        struct member m = {.nest = k, .inlined = !root && !n->n_reduce};
        if (root) {
            m.n = n->n_axes;
            memcpy(m.from, n->axes, sizeof *m.from * (size_t)m.n);
            memcpy(m.to, out->x, sizeof *m.to * (size_t)m.n);
        } else if (n->n_reduce) {
            m.n = 1;
            m.from[0] = n->reduce[0];
            m.to[0] = out->r[0];
        }
        vec_push(s->arena, &out->members, m);
    }
    return true;
}

static bool is_of(const struct schedule *s, const struct group *G, uint32_t loop) {
    return loop_of(s->loops->nests.at[G->members.at[0].nest].epoch) == loop;
}

static bool is_at_load(const struct schedule *s, uint32_t loop) {
    bool any = false;
    for (uint32_t g = 0; g < s->groups.n; g++)
        any |= is_of(s, &s->groups.at[g], loop) && s->groups.at[g].at_load;
    return any;
}

/* us of a loop's steps as launches. */
static double launches_us(struct schedule *s, uint32_t loop, group_us_fn *us, void *ctx) {
    double step = 0;
    for (uint32_t g = 0; g < s->groups.n; g++)
        if (is_of(s, &s->groups.at[g], loop)) step += LAUNCH_US + us(s, g, ctx);
    return step * (double)s->loops->steps.at[loop];
}

uint32_t schedule_join_steps(struct schedule *s, uint32_t loop, struct group joined) {
    const struct loops *l = s->loops;
    uint32_t at = NO_NEST, kept = 0, n = s->groups.n;
    struct group *groups = NEW_ARRAY(s->arena, struct group, n);
    for (uint32_t g = 0; g < n; g++) {
        const struct group *G = &s->groups.at[g];
        if (!is_of(s, G, loop))
            groups[kept++] = *G;
        else if (at == NO_NEST)
            groups[at = kept++] = joined;
    }
    schedule_set_groups(s, groups, kept, n);
    for (uint32_t m = 0; m < joined.members.n; m++) {
        const struct nest *n = &l->nests.at[joined.members.at[m].nest];
        if (l->buffers.at[n->out].kind == BUFFER_TEMP)
            s->stored[n->out] = !joined.members.at[m].inlined && !n->n_reduce;
    }
    return at;
}

int schedule_persistent(struct schedule *s, group_us_fn *us, persists_fn *persists, void *ctx) {
    const struct loops *l = s->loops;
    int n = 0;
    for (uint32_t loop = 0; loop < l->steps.n; loop++) {
        struct group *groups = s->groups.at;
        uint32_t n_groups = s->groups.n;
        uint32_t *group_of = NEW_ARRAY(s->arena, uint32_t, l->nests.n);
        bool *stored = NEW_ARRAY(s->arena, bool, l->buffers.n);
        memcpy(group_of, s->group_of, l->nests.n * sizeof *group_of);
        memcpy(stored, s->stored, l->buffers.n * sizeof *stored);
        struct group joined;
        if (is_at_load(s, loop) || !make_group(s, loop, &joined)) continue;
        double launches = launches_us(s, loop, us, ctx);
        uint32_t g = schedule_join_steps(s, loop, joined);
        if (persists(s, g, launches, ctx)) {
            n++;
            continue;
        }
        s->groups.at = groups;
        s->groups.n = n_groups;
        memcpy(s->group_of, group_of, l->nests.n * sizeof *group_of);
        memcpy(s->stored, stored, l->buffers.n * sizeof *stored);
    }
    return n;
}
