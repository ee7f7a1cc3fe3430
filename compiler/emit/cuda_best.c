/* cuda_best.c: where a row's extremum is, by vectors, in CUDA. By elements, each costs comparisons
 * with the best so far, of values and of numbers, and two choices. Which vector has the extremum is
 * asked once a vector, though, and where it is in there once a row. Of an argmax:
 *
 *     k_pack<k_bf16, 8> k2[1];                           the vector that begins at a2[e].at
 *     for (u) k_keep<k_argmax>(a2[e], k2[e], k_most<k_argmax>(q0[e][u]), r, q0[e][u]);
 *     ...
 *     a2[e].at += k_place(k2[e], a2[e].value);           at the end of the row
 *     a2[e] = k_reduce_row<k_argmax, 256>(a2[e], ...);
 *
 * A thread's vectors come in the order of their numbers, so of equal ones the first stays. Heads
 * and tails go by elements, after that. An amax of the same values is made of the vectors', too.
 * What is computed, not loaded, is put into a vector first. */
#include "emit/cuda_rows.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

/* What pair v is made of, before casts that change nothing. */
static value_id operand_of(struct emitter *w, value_id v) {
    v = at(w, v)->args[0];
    while (at(w, v)->kind == INST_CAST && !at(w, v)->rounds &&
           value_math(w, v) == value_math(w, at(w, v)->args[0]))
        v = at(w, v)->args[0];
    return v;
}

/* What the vectors of pair v are made of: as it lies in memory, or as it is computed. */
static enum dtype kept_dtype(struct emitter *w, value_id v) {
    value_id of = operand_of(w, v);
    return whole_pack(w, of) ? at(w, of)->dtype : value_math(w, of);
}

bool goes_by_vectors(struct emitter *w, value_id v) {
    enum { REGISTERS = 32 }; /* for the vectors that a thread keeps, one for each of its rows */
    const struct value_node *x = at(w, v);
    if (w->k->kind != KERNEL_REDUCE || w->y->rows_inner || w->y->hits || w->y->vec == 1)
        return false;
    if (!is_pair(x) || goes_across(x)) return false;
    const struct value_node *number = at(w, x->args[1]);
    return number->kind == INST_INDEX && !number->n_args &&
           index_stride(w->k, number->index, AXIS_R) == 1 &&
           w->y->ex * w->y->vec * dtype_bytes(kept_dtype(w, v)) <= 4 * REGISTERS;
}

bool gathers_vector(struct emitter *w, value_id v) {
    return goes_by_vectors(w, v) && !whole_pack(w, operand_of(w, v));
}

/* The pair of f that looks for the same extremum as v and goes by vectors, or NO_VALUE. */
static value_id pair_of(struct emitter *w, const struct phase *f, value_id v) {
    enum reduction r = at(w, v)->reduction;
    bool extremum = r == REDUCTION_AMAX || r == REDUCTION_AMIN;
    if (at(w, v)->kind != INST_REDUCE || !extremum) return NO_VALUE;
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id p = f->reduce.at[i];
        enum reduction other = r == REDUCTION_AMAX ? REDUCTION_ARGMAX : REDUCTION_ARGMIN;
        if (at(w, p)->reduction == other && goes_by_vectors(w, p) &&
            operand_of(w, p) == operand_of(w, v))
            return p;
    }
    return NO_VALUE;
}

bool is_of_vectors(struct emitter *w, const struct phase *f, value_id v) {
    return goes_by_vectors(w, v) || pair_of(w, f, v) != NO_VALUE;
}

static const char *kept_type(struct emitter *w, value_id v) {
    return arena_printf(w->arena, "k_pack<%s, %d>", memory_type(w, kept_dtype(w, v)), w->y->vec);
}

void declare_best(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->reduce.n; i++)
        if (goes_by_vectors(w, f->reduce.at[i]))
            line(w, "%s k%u[%d] = {};", kept_type(w, f->reduce.at[i]), f->reduce.at[i], w->y->ex);
}

void put_best(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        if (!goes_by_vectors(w, v)) continue;
        const struct value_node *x = at(w, v);
        const char *pack = whole_pack(w, operand_of(w, v));
        const char *op = reduction_operator(x->reduction), *t = math_type(kept_dtype(w, v));
        if (!pack) {
            pack = arena_printf(w->arena, "g%u", v);
            line(w, "%s %s;", kept_type(w, v), pack);
            line(w, "k_put(%s, c%u);", pack, v);
        }
        line(w, "const %s m%u = k_most<%s>(%s);", t, v, op, pack);
        line(w, "k_keep<%s>(a%u[e], k%u[e], m%u, %s, %s);", op, v, v, v,
             ex_text(w, at(w, x->args[1])->index), pack);
    }
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i], p = pair_of(w, f, v);
        if (p == NO_VALUE) continue;
        const char *acc = arena_printf(w->arena, "a%u[e]", v);
        line(w, "%s = %s;", acc,
             combine_text(w, v, acc,
                          arena_printf(w->arena, "(%s)m%u", math_type(at(w, v)->dtype), p)));
    }
}

void settle_best(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        if (!goes_by_vectors(w, v)) continue;
        open_unrolled(w, "e", w->y->ex);
        line(w, "a%u[e].at += k_place(k%u[e], a%u[e].value);", v, v, v);
        close_brace(w);
    }
}
