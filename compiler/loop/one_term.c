/* one_term.c: a sum of products of which all but one are 0, because a factor is, is that one:
 *
 *   b4[i0, i1] = where(i1 - i0 == 0, x[i0], 0)
 *   b6[i0, i1] = sum over r0 of b4[i0, r0] * b[r0, i1]
 * ->
 *   b6[i0, i1] = b4[i0, i0] * b[i0, i1]
 *
 * diag(x) @ b scales rows, b @ diag(x) columns, and a mask of a diagonal, an identity times
 * something, or a permutation made of positions do as well, whatever operators they are made of: a
 * factor counts where an equation of positions holds, and that has one solution for the reduced
 * index. Nobody reads the rest of the factor, which then is no tensor in memory.
 *
 * Terms that are left out are 0 but where the other factor is infinite or no number there, as of
 * masks (kernel/edges.c).
 *
 * Needs: loops that no schedule looks at yet. Keeps: which nests and buffers there are. */
#include "graph/traits.h"
#include "loop/lower_impl.h"

#define NOBODY UINT32_MAX
enum { MOST_DEPTH = 16 }; /* nests and instructions from a factor to the equation */

struct search {
    struct loops *l;
    const uint32_t *writer; /* per buffer */
};

/* A value of a nest, its axes as what reads it has them. */
struct place {
    const struct nest *nest;
    int n;
    ex from[WS_MAX_RANK], to[WS_MAX_RANK];
};

static ex seen_from(const struct search *s, const struct place *p, ex e) {
    return ex_subst(s->l->ex, e, p->from, p->to, p->n);
}

/* What a load reads, if a nest without reductions has written it; no guard stands before it. */
static bool behind_load(const struct search *s, const struct place *p, const struct inst *x,
                        struct place *out) {
    uint32_t w = x->kind == INST_LOAD ? s->writer[x->buffer] : NOBODY;
    if (w == NOBODY || x->guarded) return false;
    const struct nest *n = &s->l->nests.at[w];
    if (n->n_reduce || n->scan || n->epoch != p->nest->epoch) return false;
    *out = (struct place){.nest = n};
    for (int d = 0; d < s->l->buffers.at[x->buffer].meta.rank; d++) {
        if (ex_kind(s->l->ex, n->out_index[d]) != EX_SYM) continue;
        out->from[out->n] = n->out_index[d];
        out->to[out->n++] = seen_from(s, p, x->index[d]);
    }
    return true;
}

static inst_id last_of(const struct nest *n) { return n->insts.n - 1; }

/* Is e made of the nest's axes alone? What was looked up is a value, not a position. */
static bool of_axes(const struct search *s, const struct nest *n, ex e) {
    ex syms[64];
    int count = ex_symbols(s->l->ex, e, syms, 64);
    for (int i = 0; i < count; i++) {
        bool known = !ex_symbol(s->l->ex, syms[i])->bound;
        for (int k = 0; k < n->n_axes; k++) known |= n->axes[k] == syms[i];
        for (int k = 0; k < n->n_reduce; k++) known |= n->reduce[k] == syms[i];
        if (!known) return false;
    }
    return true;
}

/* v as an expression of positions; EX_NONE: it is none. */
static ex position(const struct search *s, const struct place *p, inst_id v, int depth) {
    struct exprs *e = s->l->ex;
    const struct inst *x = &p->nest->insts.at[v];
    struct place at;
    if (depth == MOST_DEPTH || dtype_is_float(x->dtype)) return EX_NONE;
    if (x->kind == INST_INDEX)
        return of_axes(s, p->nest, x->index[0]) ? seen_from(s, p, x->index[0]) : EX_NONE;
    if (x->kind == INST_CONST && x->dtype != DT_BOOL) return ex_const(e, x->whole);
    if (x->kind == INST_LOAD)
        return behind_load(s, p, x, &at) ? position(s, &at, last_of(at.nest), depth + 1) : EX_NONE;
    if (x->dtype != DT_I64 && x->dtype != DT_I32) return EX_NONE;
    if (x->kind == INST_CAST) return position(s, p, x->args[0], depth + 1);
    if (x->kind != INST_OP || (x->op != OP_ADD && x->op != OP_SUB)) return EX_NONE;
    ex a = position(s, p, x->args[0], depth + 1), b = position(s, p, x->args[1], depth + 1);
    if (a == EX_NONE || b == EX_NONE) return EX_NONE;
    return x->op == OP_ADD ? ex_add(e, a, b) : ex_sub(e, a, b);
}

static bool is_zero(const struct nest *n, inst_id v) {
    const struct inst *x = &n->insts.at[v];
    return x->kind == INST_CONST && x->value == 0;
}

/* What is 0 wherever v is not, or not false; EX_NONE: nobody knows. */
static ex equation(const struct search *s, const struct place *p, inst_id v, int depth) {
    const struct inst *x = &p->nest->insts.at[v];
    struct place at;
    ex a, b;
    if (depth == MOST_DEPTH) return EX_NONE;
    if (x->kind == INST_LOAD)
        return behind_load(s, p, x, &at) ? equation(s, &at, last_of(at.nest), depth + 1) : EX_NONE;
    if (x->kind == INST_CAST) return equation(s, p, x->args[0], depth + 1);
    if (x->kind != INST_OP) return EX_NONE;
    if (x->op == OP_EQ) {
        a = position(s, p, x->args[0], depth + 1);
        b = position(s, p, x->args[1], depth + 1);
        return a == EX_NONE || b == EX_NONE ? EX_NONE : ex_sub(s->l->ex, a, b);
    }
    bool both = x->op == OP_MUL || x->op == OP_LOGICAL_AND || x->op == OP_BITWISE_AND;
    if (!both && !(x->op == OP_WHERE && is_zero(p->nest, x->args[2]))) return EX_NONE;
    a = equation(s, p, x->args[0], depth + 1);
    return a != EX_NONE ? a : equation(s, p, x->args[1], depth + 1);
}

/* The one place of the reduced index r where the equation holds, whatever the others are. */
static ex solution(struct exprs *p, ex e, ex r) {
    ex c, rest;
    int64_t factor, lo, hi, last;
    if (e == EX_NONE || !ex_linear(p, e, r, &c, &rest) || !ex_is_const(p, c, &factor))
        return EX_NONE;
    if (factor != 1 && factor != -1) return EX_NONE;
    ex at = ex_mul(p, rest, ex_const(p, -factor));
    ex_range(p, at, &lo, &hi);
    bool known = ex_is_const(p, ex_symbol(p, r)->bound, &last);
    return known && lo >= 0 && hi < last ? at : EX_NONE;
}

static void take_one(struct loops *l, struct nest *n, ex at) {
    inst_id mul = n->insts.at[last_of(n)].args[0];
    ex r = n->reduce[0];
    n->insts.at[mul].dtype = n->insts.at[last_of(n)].dtype;
    n->insts.n--;
    for (uint32_t i = 0; i < n->insts.n; i++)
        for (int d = 0; d < n->insts.at[i].n_index; d++)
            n->insts.at[i].index[d] = ex_subst(l->ex, n->insts.at[i].index[d], &r, &at, 1);
    n->n_reduce = 0;
    n->matmul = false;
    n->precision = PRECISION_F32;
}

void loops_one_term(struct loops *l) {
    uint32_t *writer = NEW_ARRAY(l->arena, uint32_t, l->buffers.n);
    for (buffer_id b = 0; b < l->buffers.n; b++) writer[b] = NOBODY;
    for (uint32_t k = 0; k < l->nests.n; k++) writer[l->nests.at[k].out] = k;
    const struct search s = {l, writer};
    for (uint32_t k = 0; k < l->nests.n; k++) {
        struct nest *n = &l->nests.at[k];
        if (n->n_reduce != 1 || n->insts.n < 2) continue;
        const struct inst *sum = &n->insts.at[last_of(n)];
        if (sum->kind != INST_REDUCE || sum->reduction != REDUCTION_SUM) continue;
        const struct inst *mul = &n->insts.at[sum->args[0]];
        if (sum->args[0] != last_of(n) - 1 || mul->kind != INST_OP || mul->op != OP_MUL) continue;
        const struct place p = {.nest = n};
        ex at = EX_NONE;
        for (int i = 0; i < 2 && at == EX_NONE; i++)
            at = solution(l->ex, equation(&s, &p, mul->args[i], 0), n->reduce[0]);
        if (at != EX_NONE) take_one(l, n, at);
    }
}
