/* arms.c: where guards choose among loads along a short axis, as stacked tensors do, that axis is
 * no loop: a thread has all of its elements, each with the loads that are chosen for it, and shares
 * what several of them read. A rotary embedding, i3 the half of a pair:
 *
 *     v0 = index i3 < 1                         store p3[128*x + r]      = p0[128*x + r]*p1[...]
 *     v1 = load p0[128*x + r] if v0        ->                            - p0[128*x + r + 64]*...
 *     v4 = load p0[128*x + r + 64] if v0 ...    store p3[128*x + r + 64] = p0[128*x + r + 64]*...
 *     store p3[128*x + 64*i3 + r]
 *
 * Before, a thread had eight loads, half of them for nothing, and one store; now four and two.
 *
 * Where it is the innermost axis that is short, as pairs are that lie beside each other, the stores
 * of a vector lie between each other, and are one store of a vector as many times as long. */
#include "kernel/builder.h"

enum { MAX_ARMS = 4, MAX_ARM_VALUES = 256 };

/* Is condition e decided by where axis a is? */
static bool is_decided(const struct kernel *k, ex e, ex a, int64_t size) {
    for (int64_t i = 0; i < size; i++) {
        ex at = ex_const(k->ex, i);
        if (!ex_is_const(k->ex, ex_subst(k->ex, e, &a, &at, 1), NULL)) return false;
    }
    return true;
}

/* Some load is chosen along axis a, and all conditions on a are decided by it alone. */
static bool chooses(const struct kernel *k, ex a, int64_t size) {
    bool any = false;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind == INST_LOAD && x->guarded) {
            const struct value_node *guard = &k->values.at[x->args[0]];
            any |= guard->kind == INST_INDEX && ex_uses(k->ex, guard->index, a);
        }
        if (x->kind == INST_INDEX && x->dtype == DT_BOOL && ex_uses(k->ex, x->index, a) &&
            !is_decided(k, x->index, a, size))
            return false;
    }
    return any;
}

/* All that is stored lies along axis a, and behind it along `next`. */
static bool stores_lie_between(const struct kernel *k, ex a, int64_t size, ex next) {
    ex step, pace, rest;
    for (uint32_t s = 0; s < k->stores.n; s++)
        if (!ex_linear(k->ex, k->stores.at[s].index, a, &step, &rest) ||
            step != ex_const(k->ex, 1) || !ex_linear(k->ex, rest, next, &pace, &rest) ||
            pace != ex_const(k->ex, size))
            return false;
    return true;
}

/* The innermost axis is for vectors, unless the next one will do. */
static bool leaves_vectors(const struct builder *w, ex a, int64_t size) {
    const struct group *g = w->g;
    if (a != g->x[g->n_x - 1]) return true;
    return g->n_x > 1 && (size == 2 || size == 4) &&
           stores_lie_between(w->k, a, size, g->x[g->n_x - 2]);
}

struct arm all_of(const struct builder *w, ex axis) {
    return (struct arm){.axis = axis, .n = ex_value(w->k->ex, ex_symbol(w->k->ex, axis)->bound)};
}

struct arm find_arm(const struct builder *w) {
    const struct kernel *k = w->k;
    const struct group *g = w->g;
    const struct arm none = {0};
    int64_t size;
    if (k->limits->kind != DEVICE_CUDA || g->n_r || g->matmul || g->scan || g->columns ||
        k->subscripts.n)
        return none;
    for (int i = 0; i < g->n_x; i++) {
        if (!ex_is_const(k->ex, ex_symbol(k->ex, g->x[i])->bound, &size) || size > MAX_ARMS)
            continue;
        if (size * k->values.n <= MAX_ARM_VALUES && leaves_vectors(w, g->x[i], size) &&
            chooses(k, g->x[i], size))
            return all_of(w, g->x[i]);
    }
    return none;
}

struct interleaved layout_interleaved(const struct kernel *k, const struct layout *y,
                                      uint32_t store) {
    enum { MOST = 16 }; /* elements of a vector */
    const struct interleaved alone = {1, 0, store};
    ex index = k->stores.at[store].index, c, rest;
    struct interleaved all = {0, 0, store};
    int64_t least = 0, greatest = 0, apart;
    if (!k->unrolled || k->kind != KERNEL_POINTWISE || y->peel || y->cut ||
        k->limits->kind != DEVICE_CUDA)
        return alone;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        if (k->stores.at[i].buffer != k->stores.at[store].buffer) continue;
        if (!ex_is_const(k->ex, ex_sub(k->ex, k->stores.at[i].index, index), &apart)) return alone;
        all.n++;
        if (apart < least) least = apart, all.first = i;
        if (apart > greatest) greatest = apart;
    }
    if (all.n == 1 || (all.n & (all.n - 1)) || greatest - least != all.n - 1 ||
        all.n * y->vec > MOST || index_stride(k, index, AXIS_R) != all.n)
        return alone;
    ex first = ex_add(k->ex, index, ex_const(k->ex, least));
    if (!ex_linear(k->ex, first, k->axis[AXIS_R], &c, &rest) ||
        !ex_divides(k->ex, all.n * y->vec, rest))
        return alone;
    all.place = (int)-least;
    return all;
}
