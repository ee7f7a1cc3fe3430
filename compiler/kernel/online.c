/* online.c: sums that need not wait for what they are relative to. Of exp(x - max):
 *
 *     v1 = reduce amax v0    level 1        a row in chunks:  m' = max(m, chunk)
 *     v2 = sub(v0, v1)                                        s *= exp(m - m')
 *     v3 = exp(v2)                                            s += exp(v0 - m') of the chunk
 *     v4 = reduce sum v3     level 2                          m  = m'
 *
 * So both are known after one pass over the row. The sum may have a factor that does not depend on
 * the maximum. Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; with one
 * rescaling for a chunk, an element costs one exponential as in two passes.
 *
 * Of squared differences from the mean, or another number made of the row's sum:
 *
 *     v2 = reduce sum v1     level 1        of a thread's n elements, d = v1 - near:
 *     v4 = div(v2, 4096)                      sum of d, sum of d^2
 *     v5 = sub(v1, v4)                      when v4 is known, e = v4 - near:
 *     v6 = mul(v5, v5)                        sum of d^2 - e (2 sum of d - n e)
 *     v7 = reduce sum v6     level 2
 *
 * which is then summed up over threads. `near` is the thread's mean so far, moved whenever n has
 * doubled: the sums keep the digits of the difference, wherever a few elements lie. */
#include "kernel/kernel.h"

/* v without what keeps its value. */
static const struct value_node *plain(const struct kernel *k, value_id *v) {
    const struct value_node *x = &k->values.at[*v];
    while (x->kind == INST_CAST && !x->rounds) {
        enum dtype from = k->values.at[x->args[0]].dtype;
        if (dtype_opmath(from) != dtype_opmath(x->dtype)) break;
        *v = x->args[0];
        x = &k->values.at[*v];
    }
    return x;
}

static value_id maximum_below(const struct kernel *k, value_id v);

/* Of chained products terms may be 0 somewhere, or have other factors, which are known before. */
static value_id maximum_within(const struct kernel *k, const struct value_node *x) {
    bool choice = x->op == OP_WHERE;
    for (int i = choice; i < x->n_args && (choice || x->op == OP_MUL); i++) {
        value_id max = maximum_below(k, x->args[i]), other = x->args[choice ? 3 - i : 1 - i];
        if (max == NO_VALUE) continue;
        const struct value_node *zero = &k->values.at[other];
        if (choice && (zero->kind != INST_CONST || zero->number != 0)) continue;
        bool known = k->values.at[choice ? x->args[0] : other].level < k->values.at[max].level;
        return known ? max : NO_VALUE;
    }
    return NO_VALUE;
}

/* v = exp(f - max f): the maximum, or NO_VALUE. */
static value_id maximum_below(const struct kernel *k, value_id v) {
    const struct value_node *x = plain(k, &v);
    if (k->kind == KERNEL_CHAINED && x->kind == INST_OP && x->op != OP_EXP)
        return maximum_within(k, x);
    if (x->kind != INST_OP || x->op != OP_EXP) return NO_VALUE;
    value_id difference = x->args[0];
    x = plain(k, &difference);
    if (x->kind != INST_OP || x->op != OP_SUB) return NO_VALUE;
    value_id f = x->args[0], m = x->args[1];
    const struct value_node *max = &k->values.at[m];
    if (max->kind != INST_REDUCE || max->reduction != REDUCTION_AMAX) return NO_VALUE;
    value_id of = max->args[0];
    plain(k, &f);
    plain(k, &of);
    /* What is the same all along the row is computed once, after the maximum. */
    bool varies = k->values.at[f].mask & (k->over ? k->over : MASK_R);
    return f == of && varies && dtype_is_float(max->dtype) ? m : NO_VALUE;
}

value_id kernel_online_maximum(const struct kernel *k, value_id sum) {
    const struct value_node *x = &k->values.at[sum];
    if (x->kind != INST_REDUCE || x->reduction != REDUCTION_SUM) return NO_VALUE;
    value_id term = x->args[0], m = maximum_below(k, term);
    if (m == NO_VALUE) {
        const struct value_node *product = plain(k, &term);
        if (product->kind != INST_OP || product->op != OP_MUL) return NO_VALUE;
        for (int side = 0; side < 2 && m == NO_VALUE; side++) {
            value_id factor = product->args[1 - side];
            m = maximum_below(k, product->args[side]);
            if (m != NO_VALUE && k->values.at[factor].level >= k->values.at[m].level) m = NO_VALUE;
        }
    }
    if (m == NO_VALUE || x->level != k->values.at[m].level + 1) return NO_VALUE;
    return dtype_opmath(x->dtype) == dtype_opmath(k->values.at[m].dtype) ? m : NO_VALUE;
}

/* Is u made of a sum of f, and of nothing else of its level? Where f is infinite it is no number,
 * then, as the squares are. */
static bool stands_on_sum(const struct kernel *k, value_id u, value_id f) {
    const struct value_node *x = &k->values.at[u];
    while (x->kind == INST_OP || x->kind == INST_CAST) {
        const struct value_node *below = NULL;
        for (int a = 0; a < x->n_args; a++) {
            const struct value_node *arg = &k->values.at[x->args[a]];
            if (arg->level != x->level) continue;
            if (below && below != arg) return false;
            below = arg;
        }
        if (!below) return false;
        x = below;
    }
    if (x->kind != INST_REDUCE || x->reduction != REDUCTION_SUM) return false;
    value_id of = x->args[0];
    plain(k, &of), plain(k, &f);
    return of == f;
}

value_id kernel_online_square(const struct kernel *k, value_id sum, value_id *about) {
    const struct value_node *x = &k->values.at[sum];
    if (x->kind != INST_REDUCE || x->reduction != REDUCTION_SUM || goes_across(x)) return NO_VALUE;
    value_id square = x->args[0];
    const struct value_node *product = plain(k, &square);
    if (product->kind != INST_OP || product->op != OP_MUL) return NO_VALUE;
    value_id d = product->args[0], same = product->args[1];
    const struct value_node *difference = plain(k, &d);
    plain(k, &same);
    if (d != same || difference->kind != INST_OP || difference->op != OP_SUB) return NO_VALUE;
    const struct value_node *f = &k->values.at[difference->args[0]],
                            *u = &k->values.at[difference->args[1]];
    bool late = u->level == x->level - 1 && f->level < u->level;
    if (!late || u->mask & MASK_R || !(f->mask & MASK_R) || !dtype_is_float(x->dtype) ||
        dtype_opmath(difference->dtype) != dtype_opmath(x->dtype) ||
        !stands_on_sum(k, difference->args[1], difference->args[0]))
        return NO_VALUE;
    if (about) *about = difference->args[1];
    return difference->args[0];
}

int kernel_online_squares(const struct kernel *k, int level) {
    int squares = 0;
    for (value_id v = 0; v < k->values.n && level; v++)
        if (k->values.at[v].level == level + 1)
            squares += kernel_online_square(k, v, NULL) != NO_VALUE;
    return squares;
}

int kernel_online_level(const struct kernel *k) {
    int of_squares = 0;
    if (k->kind != KERNEL_REDUCE || k->columns) return 0;
    for (int level = 1; level < k->levels; level++) {
        int all = 0, maxima = 0, squares = kernel_online_squares(k, level);
        for (value_id v = 0; v < k->values.n; v++) {
            const struct value_node *x = &k->values.at[v];
            if (x->kind != INST_REDUCE || x->level != level + 1) continue;
            all++;
            maxima += kernel_online_maximum(k, v) != NO_VALUE;
        }
        if (!all || maxima + squares < all) continue;
        if (maxima) return level;
        if (!of_squares) of_squares = level;
    }
    return of_squares;
}

int layout_phase(const struct layout *y, int level) {
    return y->online && level > y->online ? level - 1 : level;
}
