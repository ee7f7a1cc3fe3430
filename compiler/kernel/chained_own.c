/* chained_own.c: whether chained products are a kernel, and what its rows and columns have of their
 * own: scales, maxima, and numbers that terms read. Asks a finished body, and changes nothing. */
#include <math.h>

#include "kernel/chained_parts.h"

value_id chained_maximum(const struct kernel *k) {
    value_id max = NO_VALUE;
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE && !is_first_product(k, v) &&
            kernel_online_maximum(k, v) != NO_VALUE)
            max = kernel_online_maximum(k, v);
    return max;
}

/* The load that a factor is, but for casts to a type that holds it. */
const struct value_node *load_of(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    while (x->kind == INST_CAST) x = &k->values.at[x->args[0]];
    return x->kind == INST_LOAD ? x : NULL;
}

static const char *factors_reason(const struct kernel *k) {
    const value_id products[] = {k->dot, k->second, k->beside, k->twin},
                   factors[][2] = {{k->dot_a, k->dot_b},
                                   {NO_VALUE, k->second_b},
                                   {k->beside_a, k->beside_b},
                                   {NO_VALUE, k->twin_b}};
    enum dtype t = k->values.at[k->dot].dtype;
    for (int i = 0; i < 4; i++) {
        if (products[i] == NO_VALUE) continue;
        for (int side = 0; side < 2; side++) {
            if (factors[i][side] == NO_VALUE) continue;
            const struct value_node *x = load_of(k, factors[i][side]);
            bool narrow = x && k->schedule->loops->buffers.at[x->buffer].meta.dtype == t;
            if (!narrow || x->level)
                return "a factor of chained products is no tensor of their type";
        }
        if (k->values.at[products[i]].dtype != t) return "chained products of two types";
    }
    return NULL;
}

/* f without a positive number that it is multiplied by, in f32: *by, or 1. */
static value_id without_scale(const struct kernel *k, value_id f, double *by) {
    const struct value_node *x = &k->values.at[f];
    *by = 1;
    if (x->kind != INST_OP || x->op != OP_MUL || dtype_opmath(x->dtype) != DT_F32) return f;
    for (int i = 0; i < 2; i++) {
        const struct value_node *c = &k->values.at[x->args[i]];
        if (!is_scale(k, x->args[i]) || dtype_opmath(k->values.at[x->args[1 - i]].dtype) != DT_F32)
            continue;
        *by = (float)c->number;
        return x->args[1 - i];
    }
    return f;
}

/* The same of what the maximum is of. */
value_id chained_scaled(const struct kernel *k, value_id max, double *by) {
    return without_scale(k, k->values.at[max].args[0], by);
}

/* ---- what rows and columns have of their own ------------------------------------------------- */

bool chained_is_of(const struct kernel *k, value_id v, enum axis axis) {
    static const uint8_t all = MASK_M | MASK_N | MASK_R | MASK_C;
    const struct value_node *x = &k->values.at[v];
    return (x->mask & all) == (axis == AXIS_M ? MASK_M : MASK_N) && !x->level;
}

static bool is_loaded(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    bool loaded = x->kind == INST_LOAD;
    for (int i = 0; i < x->n_args && !loaded; i++) loaded = is_loaded(k, x->args[i]);
    return loaded;
}

static bool is_own(const struct kernel *k, value_id v, enum axis axis) {
    enum dtype t = k->values.at[v].dtype;
    return chained_is_of(k, v, axis) && dtype_is_float(t) && dtype_opmath(t) == DT_F32 &&
           is_loaded(k, v);
}

value_id chained_subtracted(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v], *sub;
    if (x->kind != INST_OP || x->op != OP_EXP || x->dtype != DT_F32) return NO_VALUE;
    sub = &k->values.at[x->args[0]];
    if (sub->kind != INST_OP || sub->op != OP_SUB || sub->dtype != DT_F32) return NO_VALUE;
    bool own = is_own(k, sub->args[1], AXIS_M) || is_own(k, sub->args[1], AXIS_N);
    return own && k->values.at[sub->args[0]].level ? sub->args[1] : NO_VALUE;
}

bool chained_is_exponent(const struct kernel *k, value_id sub) {
    bool all = k->values.at[sub].kind == INST_OP && k->values.at[sub].op == OP_SUB;
    for (value_id v = sub + 1; v < k->values.n && all; v++)
        for (int i = 0; i < k->values.at[v].n_args; i++)
            all &= k->values.at[v].args[i] != sub || chained_subtracted(k, v) != NO_VALUE;
    return all;
}

value_id chained_unscaled(const struct kernel *k, value_id f, value_id *mask, double *by) {
    const struct value_node *x = &k->values.at[f];
    *mask = NO_VALUE;
    for (int i = 1; i <= 2 && x->kind == INST_OP && x->op == OP_WHERE; i++) {
        const struct value_node *other = &k->values.at[x->args[3 - i]];
        if (other->kind != INST_CONST || other->number != -INFINITY) continue;
        *mask = f;
        return without_scale(k, x->args[i], by);
    }
    return without_scale(k, f, by);
}

static bool has_own(const struct own *own, int n, value_id v) {
    bool has = false;
    for (int i = 0; i < n; i++) has |= own[i].value == v;
    return has;
}

int chained_own(const struct kernel *k, enum axis axis, struct own *own) {
    int n = 0;
    if (chained_maximum(k) != NO_VALUE) return 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        value_id subtracted = chained_subtracted(k, v);
        if (x->mask & MASK_C || chained_is_of(k, v, axis) || is_first_product(k, v)) continue;
        if (subtracted != NO_VALUE && is_own(k, subtracted, axis)) {
            if (n == MOST_OWN) return 0;
            own[n++] = (struct own){v, true};
        }
        for (int i = 0; i < x->n_args; i++) {
            value_id of = x->args[i];
            if (!is_own(k, of, axis) || has_own(own, n, of)) continue;
            if (i == 1 && chained_is_exponent(k, v)) continue;
            if (n == MOST_OWN) return 0;
            own[n++] = (struct own){of, false};
        }
    }
    return n;
}

/* Do columns have values of their own, which a thread would keep from row to row, and rows are not
 * reduced? */
void find_own(const struct kernel *k, struct chained *x) {
    bool reduces = false;
    for (value_id v = 0; v < k->values.n; v++)
        reduces |= k->values.at[v].kind == INST_REDUCE && !is_first_product(k, v) &&
                   !is_second_product(k, v);
    if (reduces || x->by_warp) return;
    x->n_own = chained_own(k, AXIS_N, x->own);
    for (int i = 0; i < x->n_own; i++) x->own_floats += x->own[i].exponent ? 2 : 1;
    if (x->own_floats & 1) x->own_floats++;
    if (x->own_floats > 4) x->n_own = x->own_floats = 0;
}

const char *kernel_chain_reason(const struct schedule *s, uint32_t group,
                                const struct device_limits *limits, double *us, struct arena *a) {
    enum { LONGEST = 1 << 16 };
    const struct kernel *k = kernel_build(s, group, limits, a);
    if (k->kind != KERNEL_CHAINED)
        return "the second product does not go along the first one's columns";
    int *stage = epilogue_stages(k);
    value_id max = NO_VALUE;
    if (kernel_size(k, AXIS_C) > CHAIN_WIDEST || kernel_size(k, AXIS_R) > CHAIN_WIDEST)
        return "a block's threads cannot hold so many columns, or read so deep a factor";
    if (kernel_size(k, AXIS_N) > LONGEST) return "the sums would be too long";
    const char *bad = factors_reason(k);
    if (bad) return bad;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_REDUCE || is_first_product(k, v)) continue;
        value_id of = kernel_online_maximum(k, v);
        if (!reduction_of_values(x->reduction) || !dtype_is_float(x->dtype))
            return "a place, or squares, are looked for between two products";
        if (stage[v] == 1) continue;
        if (stage[v] > 2 || of == NO_VALUE || stage[of] != 1 || (max != NO_VALUE && max != of))
            return "what rows come to is needed before they are whole";
        max = of;
    }
    if (max != NO_VALUE && k->twin != NO_VALUE) return "two products of rows that are rescaled";
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->values.at[k->stores.at[i].value].mask & MASK_N || k->stores.at[i].mask & MASK_N)
            return "what is between two products is stored";
    *us = kernel_least_cost(k, NULL, a);
    return isinf(*us) ? "a block's threads cannot hold all sums" : NULL;
}
