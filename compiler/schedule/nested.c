/* nested.c: a reduction of a reduction becomes one over both's axes.
 *
 *   d[i0] = sum r0: 1000 of e[i0, r0]           two passes, the second of one row that a
 *   f     = sum r0: 1000 of d[r0]               thousand blocks have to wait for
 * ->
 *   f     = sum r0: 1000, r1: 1000 of e[r0, r1]   one that can be split
 *
 * Both are of the same kind, nobody else wants what the first gives, and nothing but a cast that
 * loses no digits stands between them. Sums are added up in another order, as in any kernel.
 *
 * Needs: loops that no schedule looks at yet. Breaks: nothing; nests go. */
#include "schedule/schedule.h"

struct nested {
    struct loops *l;
    uint32_t *writer;  /* per buffer; NO_NEST for inputs and what has gone */
    uint32_t *readers; /* per buffer: loads of it */
};

static void look(struct nested *s) {
    for (buffer_id b = 0; b < s->l->buffers.n; b++) s->writer[b] = NO_NEST, s->readers[b] = 0;
    for (uint32_t k = 0; k < s->l->nests.n; k++) {
        const struct nest *n = &s->l->nests.at[k];
        s->writer[n->out] = k;
        for (uint32_t i = 0; i < n->insts.n; i++)
            if (n->insts.at[i].kind == INST_LOAD) s->readers[n->insts.at[i].buffer]++;
    }
}

/* The nest whose result `load` is the only one to read; NO_NEST if others do. */
static uint32_t only_source(const struct nested *s, const struct inst *load) {
    bool alone = load->kind == INST_LOAD && !load->guarded && s->readers[load->buffer] == 1 &&
                 s->l->buffers.at[load->buffer].kind == BUFFER_TEMP;
    return alone ? s->writer[load->buffer] : NO_NEST;
}

static bool is_plain_reduction(const struct nest *n) {
    const struct inst *last = &n->insts.at[n->insts.n - 1];
    return n->n_reduce && !n->matmul && reduction_of_values(last->reduction);
}

/* A load, and a cast that loses nothing. */
static bool passes_on(const struct nest *n) {
    return !n->n_reduce && !n->scan && n->insts.n == 2 && n->insts.at[1].kind == INST_CAST &&
           !n->insts.at[1].rounds && dtype_is_float(n->insts.at[0].dtype) &&
           dtype_is_float(n->insts.at[1].dtype);
}

/* The reduction that a load of `index` stands on, if only casts are between; *index becomes where
 * that is read, in the axes that it was given in. */
static uint32_t reduction_below(const struct nested *s, const struct inst *load, ex *index) {
    uint32_t from = only_source(s, load);
    memcpy(index, load->index, sizeof load->index);
    while (from != NO_NEST && passes_on(&s->l->nests.at[from])) {
        const struct nest *n = &s->l->nests.at[from];
        const struct inst *x = &n->insts.at[0];
        ex next[WS_MAX_RANK] = {0};
        for (int d = 0; d < x->n_index; d++)
            next[d] = ex_subst(s->l->ex, x->index[d], n->out_index, index,
                               s->l->buffers.at[n->out].meta.rank);
        memcpy(index, next, sizeof next);
        from = only_source(s, x);
    }
    return from;
}

/* What `inner` reduces, reduced by `outer`, which reads it at `index`. */
static void join_reductions(struct nested *s, struct nest *outer, const struct nest *inner,
                            const ex *index) {
    struct exprs *p = s->l->ex;
    ex from[2 * WS_MAX_RANK], to[2 * WS_MAX_RANK];
    struct inst last = outer->insts.at[outer->insts.n - 1];
    int n = 0;
    for (int d = 0; d < s->l->buffers.at[inner->out].meta.rank; d++) {
        if (ex_kind(p, inner->out_index[d]) != EX_SYM) continue;
        from[n] = inner->out_index[d];
        to[n++] = index[d];
    }
    for (int r = 0; r < inner->n_reduce; r++) {
        ex axis = ex_index(p, arena_printf(s->l->arena, "r%d", outer->n_reduce),
                           ex_symbol(p, inner->reduce[r])->bound);
        outer->reduce[outer->n_reduce++] = axis;
        from[n] = inner->reduce[r];
        to[n++] = axis;
    }
    memset(&outer->insts, 0, sizeof outer->insts);
    for (uint32_t i = 0; i + 1 < inner->insts.n; i++) {
        struct inst x = inner->insts.at[i];
        for (int d = 0; d < x.n_index && x.kind != INST_SUBSCRIPT; d++)
            x.index[d] = ex_subst(p, x.index[d], from, to, n);
        vec_push(s->l->arena, &outer->insts, x);
    }
    last.args[0] = inner->insts.at[inner->insts.n - 1].args[0];
    vec_push(s->l->arena, &outer->insts, last);
}

static bool collapse(struct nested *s, uint32_t k, bool eager) {
    struct nest *outer = &s->l->nests.at[k];
    ex index[WS_MAX_RANK];
    if (!is_plain_reduction(outer) || outer->insts.n != 2 || nest_recurs(s->l, outer)) return false;
    uint32_t from = reduction_below(s, &outer->insts.at[0], index);
    if (from == NO_NEST) return false;
    const struct nest *inner = &s->l->nests.at[from];
    if (!is_plain_reduction(inner) || outer->n_reduce + inner->n_reduce > WS_MAX_RANK ||
        (eager && inner->origin != outer->origin) ||
        inner->insts.at[inner->insts.n - 1].reduction != outer->insts.at[1].reduction)
        return false;
    join_reductions(s, outer, inner, index);
    return true;
}

/* Nests that nobody reads any more go. */
static void drop_unread(struct nested *s) {
    for (bool again = true; again;) {
        uint32_t kept = 0;
        look(s);
        again = false;
        for (uint32_t k = 0; k < s->l->nests.n; k++) {
            const struct nest *n = &s->l->nests.at[k];
            bool wanted = s->readers[n->out] || s->l->buffers.at[n->out].kind != BUFFER_TEMP;
            if (wanted)
                s->l->nests.at[kept++] = *n;
            else
                again = true;
        }
        s->l->nests.n = kept;
    }
}

void schedule_nested(struct loops *l, bool eager) {
    struct nested s = {.l = l};
    s.writer = NEW_ARRAY(l->arena, uint32_t, l->buffers.n);
    s.readers = NEW_ARRAY(l->arena, uint32_t, l->buffers.n);
    look(&s);
    for (uint32_t k = 0; k < l->nests.n; k++)
        while (collapse(&s, k, eager)) drop_unread(&s), k = 0;
}
