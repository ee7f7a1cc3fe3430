/* join_loads.c: two loads of one tensor, one of which is wanted where a condition of the row holds
 * and the other where it does not, are one load at either place:
 *
 *     v1 = load p0[r + x*64 + 128] if x < 2                 v1 = load p0[r + x*64 + 128*(x < 2)]
 *     v2 = load p0[r + x*64] if 2 <= x
 *     v3 = where(x < 2, v1, v2)
 *
 * as rows that are rolled are read, and the halves of cat([x, f(x)], 0). A thread then chooses an
 * address, in place of each of its elements, asks for no vectors that it does not want, and what is
 * computed of both is computed once. The place lies within vectors as those of both did.
 *
 * The condition is the same for all neighbours that a vector may have. Nobody else may look at what
 * either load is elsewhere, which is 0. */
#include <string.h>

#include "kernel/builder.h"

enum { HOLDS = 1, FAILS = 2 }; /* where a value is looked at, by the condition */
enum { NEIGHBOURS = 16 };      /* of the longest vector */

/* The comparison that holds where e does not; EX_NONE if e is no comparison of sizes. */
static ex opposite(struct exprs *p, ex e) {
    enum ex_kind kind = ex_kind(p, e);
    if (kind != EX_LT && kind != EX_LE) return EX_NONE;
    return ex_compare(p, kind == EX_LT ? EX_LE : EX_LT, ex_rhs(p, e), ex_lhs(p, e));
}

/* A condition of positions alone that v is; EX_NONE. */
static ex condition_of(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    return x->kind == INST_INDEX && !x->n_args ? x->index : EX_NONE;
}

/* Where each value is looked at, by whether the condition holds. */
static void mark_looked_at(const struct kernel *k, ex condition, ex other, uint8_t *marks) {
    for (value_id v = 0; v < k->values.n; v++) marks[v] = 0;
    for (uint32_t s = 0; s < k->stores.n; s++) marks[k->stores.at[s].value] = HOLDS | FAILS;
    for (uint32_t i = 0; i < k->subscripts.n; i++)
        if (k->subscripts.at[i].value != NO_VALUE) marks[k->subscripts.at[i].value] = HOLDS | FAILS;
    for (value_id v = k->values.n; v-- > 0;) {
        const struct value_node *x = &k->values.at[v];
        bool pointwise = x->kind == INST_OP || x->kind == INST_CAST;
        uint8_t seen = !marks[v] || pointwise ? marks[v] : HOLDS | FAILS;
        bool choice = x->kind == INST_OP && x->op == OP_WHERE;
        ex by = choice ? condition_of(k, x->args[0]) : EX_NONE;
        for (int a = 0; a < x->n_args; a++) {
            uint8_t part = seen;
            if (a && by == condition) part &= a == 1 ? HOLDS : FAILS;
            if (a && by == other) part &= a == 1 ? FAILS : HOLDS;
            marks[x->args[a]] |= part;
        }
    }
}

/* The guard of a load that has one, of rows; EX_NONE. */
static ex row_guard(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind != INST_LOAD || !x->guarded) return EX_NONE;
    ex guard = condition_of(k, x->args[0]);
    if (guard == EX_NONE) return EX_NONE;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        bool along = k->axis[axis] && index_usual_stride(k, x->index, (enum axis)axis) == 1;
        if (along && !value_is_uniform(k, x->args[0], (enum axis)axis, NEIGHBOURS)) return EX_NONE;
    }
    return guard;
}

/* Of loads with guards: have they the same subscripts? */
static bool looks_up_same(const struct value_node *x, const struct value_node *y) {
    bool same = x->n_args == y->n_args;
    for (int a = 1; same && a < x->n_args; a++) same = x->args[a] == y->args[a];
    return same;
}

/* The next load of the same tensor, a known number of elements from that of load a, that is guarded
 * by the opposite condition, and looked at there alone; NO_VALUE. */
static value_id other_half(const struct kernel *k, value_id a, ex other, const uint8_t *marks,
                           const bool *done) {
    const struct value_node *x = &k->values.at[a];
    for (value_id b = a + 1; b < k->values.n; b++) {
        const struct value_node *y = &k->values.at[b];
        if (y->kind != INST_LOAD || y->buffer != x->buffer || y->dtype != x->dtype || done[b] ||
            marks[b] != FAILS || row_guard(k, b) != other || !looks_up_same(x, y))
            continue;
        if (ex_is_const(k->ex, ex_sub(k->ex, x->index, y->index), NULL)) return b;
    }
    return NO_VALUE;
}

/* Equal values become one; what is chosen among two that are one is that. */
static void number_again(struct builder *w) {
    struct kernel *k = w->k;
    uint32_t n = k->values.n;
    const struct value_node *old = k->values.at;
    value_id *now = NEW_ARRAY(k->arena, value_id, n);
    memset(&k->values, 0, sizeof k->values);
    w->numbers = map_new(k->arena);
    for (value_id v = 0; v < n; v++) {
        struct value_node x = old[v];
        for (int a = 0; a < x.n_args; a++) x.args[a] = now[x.args[a]];
        bool same = x.kind == INST_OP && x.op == OP_WHERE && x.args[1] == x.args[2] &&
                    k->values.at[x.args[1]].dtype == x.dtype;
        now[v] = same ? x.args[1] : number(w, x);
    }
    renumber(k, now, k->subscripts.n);
    drop_unused(w);
}

void join_loads(struct builder *w) {
    struct kernel *k = w->k;
    uint32_t n = k->values.n;
    if (k->limits->kind != DEVICE_CUDA) return;
    if (k->kind != KERNEL_POINTWISE && k->kind != KERNEL_REDUCE) return;
    uint8_t *marks = NEW_ARRAY(k->arena, uint8_t, n);
    bool *done = NEW_ARRAY(k->arena, bool, n), any = false;
    ex asked = EX_NONE;
    for (value_id a = 0; a < n; a++) {
        ex guard = done[a] ? EX_NONE : row_guard(k, a);
        ex other = guard == EX_NONE ? EX_NONE : opposite(k->ex, guard);
        if (other == EX_NONE) continue;
        if (asked != guard) mark_looked_at(k, asked = guard, other, marks);
        value_id b = marks[a] == HOLDS ? other_half(k, a, other, marks, done) : NO_VALUE;
        if (b == NO_VALUE) continue;
        struct value_node x = k->values.at[a];
        ex apart = ex_sub(k->ex, x.index, k->values.at[b].index);
        x.index = ex_add(k->ex, k->values.at[b].index, ex_mul(k->ex, guard, apart));
        memmove(x.args, x.args + 1, sizeof *x.args * (size_t)(--x.n_args));
        x.args[x.n_args] = 0, x.guarded = false, x.mask = x.level = 0;
        k->values.at[a] = k->values.at[b] = x;
        done[a] = done[b] = any = true;
    }
    if (any) number_again(w);
}
