/* verify.c: the invariants K1..K8 of kernel.h. */
#include "kernel/kernel.h"

static uint8_t axes_of(const struct kernel *k, ex index) {
    uint8_t mask = 0;
    for (int a = 0; a < AXIS_COUNT; a++)
        if (k->axis[a] && ex_uses(k->ex, index, k->axis[a])) mask |= (uint8_t)(1 << a);
    return kernel_has_batches(k) ? mask & (uint8_t)~MASK_Z : mask;
}

/* As many points as elements, at the size hints: with distinct indices that is all of them. Arms
 * have a store each; with guards, which leave some out, there are more points. */
static bool fills_buffer(const struct kernel *k, const struct store_node *s) {
    const struct loops *l = k->schedule->loops;
    int64_t points = kernel_batches(k), arms = k->unrolled ? 0 : 1;
    bool guarded = s->guard != EX_NONE;
    if (k->kind == KERNEL_SORT) return true; /* which writes more than it has values */
    for (uint32_t i = 0; i < k->stores.n && k->unrolled; i++) {
        if (k->stores.at[i].buffer != s->buffer) continue;
        arms++;
        guarded |= k->stores.at[i].guard != EX_NONE;
    }
    if (guarded && k->kind != KERNEL_MATMUL && k->kind != KERNEL_RECURRENCE) return false;
    for (int a = 0; a < AXIS_COUNT; a++)
        if (s->mask >> a & 1) points *= kernel_size(k, (enum axis)a);
    if (kernel_has_spans(k) && store_is_of_results(k, s)) points = matrix_results(k);
    int64_t bytes = arms * points * dtype_bytes(l->buffers.at[s->buffer].meta.dtype),
            all = buffer_bytes(l, s->buffer);
    return guarded ? bytes > all : bytes == all;
}

/* Every subscript in v's index is among its arguments. */
static bool subscripts_listed(const struct kernel *k, const struct value_node *v) {
    for (uint32_t i = 0; i < k->subscripts.n; i++) {
        const struct subscript *s = &k->subscripts.at[i];
        bool listed = !v->index || !ex_uses(k->ex, v->index, s->symbol);
        for (int a = 0; a < v->n_args; a++) listed |= v->args[a] == s->value;
        if (!listed) return false;
    }
    return true;
}

const char *kernel_verify(const struct kernel *k) {
    struct arena *a = k->arena;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        uint8_t level = 0, mask = x->index ? axes_of(k, x->index) : 0;
        for (int i = 0; i < x->n_args; i++) {
            if (x->args[i] >= v) return arena_printf(a, "K1: v%u uses v%u", v, x->args[i]);
            const struct value_node *u = &k->values.at[x->args[i]];
            if (u->level > level) level = u->level;
            mask |= u->mask & (uint8_t)~x->over;
        }
        if (x->kind == INST_SCAN) mask |= MASK_R;
        if (goes_across(x)) mask = MASK_R;
        if (x->mask != mask) return arena_printf(a, "K2: axes of v%u", v);
        if (!subscripts_listed(k, x)) return arena_printf(a, "K2: a subscript of v%u", v);
        bool deeper = (x->kind == INST_REDUCE && !goes_across(x)) || x->kind == INST_SCAN;
        if (x->level != level + deeper) return arena_printf(a, "K3: level of v%u", v);
        if (x->kind == INST_REDUCE && x->over != MASK_R && x->over != MASK_X &&
            (x->over != k->over || x->over & MASK_R))
            return arena_printf(a, "K7: axes that v%u goes along", v);
        bool spans = kernel_has_spans(k) && x->kind == INST_REDUCE && v != k->dot;
        if (spans && (k->over & MASK_Z || reduction_of_pairs(x->reduction)))
            return arena_printf(a, "K7: v%u of a part of n", v);
        if (x->column && x->mask & MASK_X) return arena_printf(a, "K6: a row needs v%u", v);
    }
    for (uint32_t i = 0; i < k->stores.n; i++) {
        uint8_t mask = k->values.at[k->stores.at[i].value].mask;
        if ((k->stores.at[i].mask & mask) != mask)
            return arena_printf(a, "K4: v%u is stored without its axes", k->stores.at[i].value);
        if (k->values.at[k->stores.at[i].value].column && !is_column_store(k, &k->stores.at[i]))
            return arena_printf(a, "K6: rows store v%u", k->stores.at[i].value);
        if (k->kind == KERNEL_CHAINED && mask & MASK_N)
            return arena_printf(a, "K8: v%u varies with n", k->stores.at[i].value);
        if (!fills_buffer(k, &k->stores.at[i]))
            return arena_printf(a, "K5: v%u does not fill the buffer", k->stores.at[i].value);
        for (uint32_t j = 0; j < i; j++)
            if (k->stores.at[i].buffer == k->stores.at[j].buffer &&
                (!k->unrolled || k->stores.at[i].index == k->stores.at[j].index))
                return arena_printf(a, "K5: a buffer is stored twice");
    }
    return k->stores.n ? NULL : "K5: nothing is stored";
}
