/* arms.c: where guards choose among loads along a short axis, as stacked tensors do, that axis is
 * no loop: a thread has all of its elements, each with the loads that are chosen for it, and shares
 * what several of them read. A rotary embedding, i3 the half of a pair:
 *
 *     v0 = index i3 < 1                               store p3[128*x + r]      = p0[128*x +
 * r]*p1[...] v1 = load p0[128*x + r] if v0          ->                                 - p0[128*x +
 * r + 64]*... v4 = load p0[128*x + r + 64] if v0 ...          store p3[128*x + r + 64] = p0[128*x +
 * r + 64]*... store p3[128*x + 64*i3 + r]
 *
 * Before, a thread had eight loads, half of them for nothing, and one store; now four and two. */
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

ex find_arm(const struct builder *w) {
    const struct kernel *k = w->k;
    const struct group *g = w->g;
    int64_t size;
    if (k->limits->kind != DEVICE_CUDA || g->n_r || g->matmul || g->scan || g->columns ||
        k->subscripts.n)
        return EX_NONE;
    for (int i = 0; i + 1 < g->n_x; i++) { /* the innermost axis is for vectors */
        if (!ex_is_const(k->ex, ex_symbol(k->ex, g->x[i])->bound, &size) || size > MAX_ARMS)
            continue;
        if (size * k->values.n <= MAX_ARM_VALUES && chooses(k, g->x[i], size)) return g->x[i];
    }
    return EX_NONE;
}
