/* in_turn.c: bytes that every program reads once more, as what reads a reduction comes behind it.
 *
 *   s = sum(x * x, 0, True)      of 1.4 GB, of which a device has 0.1 GB at a time
 *   y = x * rsqrt(s)             reads x when s is there: 1.3 GB of it once more
 *
 * A reduction is *long* if what one of its results is made of, in whole lines of memory, is more
 * than all memory on the chip: caches, shared memory and registers. What stands on it and on
 * elements that it has read needs these once more, or something else that was made of them: the
 * least of the tensors in between. Of each result's elements the chip may have kept what it holds.
 * Where long reductions stand on each other, each wants its own pass.
 *
 * It is a lower bound: of what a nest needs the largest of its tensors counts alone, a tensor that
 * the reduction has not read whole not at all, and what is written to be read again is not counted.
 * It is that of this graph: who finds another one that computes the same may need less.
 *
 * Needs: loops that no schedule looks at yet, without loops over time. Keeps all. */
#include "loop/loop.h"

enum { LINE = 64 /* what memory hands out */, MOST_LONG = 64, MOST_NESTS = 4096, MOST_STEPS = 64 };

struct in_turn {
    struct loops *l;
    double on_chip;
    uint32_t *writer; /* per buffer; NO_WRITER */
    bool *after;      /* per nest: it stands on the reduction that is looked at */
    bool *before;     /* the reduction stands on it */
    bool *whole;      /* per buffer: an input that it has read whole */
    double *need;     /* per nest, bytes of what the reduction has read */
};
enum { NO_WRITER = UINT32_MAX };

static double size_of(const struct loops *l, ex axis) {
    return (double)ex_hint(l->ex, ex_symbol(l->ex, axis)->bound);
}

static double bytes_of(const struct loops *l, buffer_id b) {
    const struct meta *m = &l->buffers.at[b].meta;
    return (double)ex_hint(l->ex, meta_numel(l->ex, m)) * dtype_bytes(m->dtype);
}

static bool uses(const struct loops *l, const ex *index, int n, ex axis) {
    for (int d = 0; d < n; d++)
        if (ex_uses(l->ex, index[d], axis)) return true;
    return false;
}

/* What a load reads in all, at least: of a table that is looked up, nothing that is known. */
static double load_bytes(const struct loops *l, const struct nest *n, const struct inst *x) {
    double all = bytes_of(l, x->buffer), read = dtype_bytes(x->dtype);
    for (int k = 0; k < n->n_axes + n->n_reduce; k++) {
        ex axis = k < n->n_axes ? n->axes[k] : n->reduce[k - n->n_axes];
        if (uses(l, x->index, x->n_index, axis)) read *= size_of(l, axis);
    }
    return read < all ? read : all;
}

/* What one result of a reduction is made of goes along these, its own and those of reductions that
 * it is made of. */
struct reduced {
    const struct nest *R;
    int n;
    ex along[4 * WS_MAX_RANK];
};

/* Bytes of memory that hold what one result takes of an input that is read at index: the elements
 * that are reduced, or the lines that these lie in, each with a few results' elements. */
static double span_of(const struct loops *l, const struct reduced *r, buffer_id b,
                      const ex *index) {
    const struct meta *m = &l->buffers.at[b].meta;
    double each = dtype_bytes(m->dtype), bytes = each, beside = 1;
    for (int k = 0; k < r->n; k++)
        if (uses(l, index, m->rank, r->along[k])) bytes *= size_of(l, r->along[k]);
    for (int d = 0; d < m->rank; d++) {
        if (m->stride[d] != ex_const(l->ex, 1)) continue;
        for (int k = 0; k < r->R->n_axes; k++)
            if (index[d] == r->R->axes[k]) beside = size_of(l, r->R->axes[k]);
    }
    if (beside > LINE / each) beside = LINE / each;
    bytes *= beside > 1 ? beside : 1;
    return bytes < bytes_of(l, b) ? bytes : bytes_of(l, b);
}

/* The same of all inputs that nest n is made of: the largest. */
static double span(const struct in_turn *t, struct reduced r, const struct nest *n, const ex *from,
                   const ex *to, int count, int *steps) {
    double most = 0;
    for (int k = 0; k < n->n_reduce && r.n < (int)(sizeof r.along / sizeof *r.along); k++)
        r.along[r.n++] = n->reduce[k];
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        ex index[WS_MAX_RANK], own[WS_MAX_RANK], at[WS_MAX_RANK];
        if (x->kind != INST_LOAD || --*steps < 0) continue;
        for (int d = 0; d < x->n_index; d++)
            index[d] = ex_subst(t->l->ex, x->index[d], from, to, count);
        uint32_t w = t->writer[x->buffer];
        double bytes = 0;
        if (w == NO_WRITER)
            bytes = span_of(t->l, &r, x->buffer, index);
        else if (!t->l->nests.at[w].matmul) {
            const struct nest *made = &t->l->nests.at[w];
            int n_own = 0;
            for (int d = 0; d < x->n_index; d++)
                if (ex_kind(t->l->ex, made->out_index[d]) == EX_SYM)
                    own[n_own] = made->out_index[d], at[n_own++] = index[d];
            bytes = span(t, r, made, own, at, n_own, steps);
        }
        if (bytes > most) most = bytes;
    }
    return most;
}

/* What R stands on, and which inputs it has read whole. */
static void find_before(struct in_turn *t, uint32_t R) {
    for (uint32_t k = 0; k < t->l->nests.n; k++) t->before[k] = k == R;
    for (buffer_id b = 0; b < t->l->buffers.n; b++) t->whole[b] = false;
    for (uint32_t k = R + 1; k-- > 0;) {
        const struct nest *n = &t->l->nests.at[k];
        for (uint32_t i = 0; t->before[k] && i < n->insts.n; i++) {
            const struct inst *x = &n->insts.at[i];
            if (x->kind != INST_LOAD) continue;
            uint32_t w = t->writer[x->buffer];
            if (w != NO_WRITER)
                t->before[w] = true;
            else if (!x->guarded && load_bytes(t->l, n, x) >= bytes_of(t->l, x->buffer))
                t->whole[x->buffer] = true;
        }
    }
}

/* What nests need, when R is there, of what it has read: of each the largest tensor. */
static void find_needs(struct in_turn *t, uint32_t R) {
    find_before(t, R);
    for (uint32_t k = 0; k < t->l->nests.n; k++) {
        const struct nest *n = &t->l->nests.at[k];
        t->after[k] = false;
        t->need[k] = 0;
        for (uint32_t i = 0; k != R && i < n->insts.n; i++) {
            const struct inst *x = &n->insts.at[i];
            if (x->kind != INST_LOAD) continue;
            uint32_t w = t->writer[x->buffer];
            double bytes = load_bytes(t->l, n, x);
            if (w == NO_WRITER)
                bytes = t->whole[x->buffer] ? bytes : 0;
            else if (t->after[w] || t->need[w] < bytes)
                bytes = t->need[w];
            if (w != NO_WRITER) t->after[k] |= w == R || t->after[w];
            if (bytes > t->need[k]) t->need[k] = bytes;
        }
    }
}

double loops_bytes_again(struct loops *l, double on_chip, struct arena *a) {
    struct in_turn t = {.l = l, .on_chip = on_chip};
    uint32_t found[MOST_LONG], n_long = 0;
    double again[MOST_LONG], spans[MOST_LONG], most = 0;
    if (l->steps.n || l->nests.n > MOST_NESTS) return 0;
    t.writer = NEW_ARRAY(a, uint32_t, l->buffers.n);
    t.after = NEW_ARRAY(a, bool, l->nests.n);
    t.before = NEW_ARRAY(a, bool, l->nests.n);
    t.whole = NEW_ARRAY(a, bool, l->buffers.n);
    t.need = NEW_ARRAY(a, double, l->nests.n);
    for (buffer_id b = 0; b < l->buffers.n; b++) t.writer[b] = NO_WRITER;
    for (uint32_t k = 0; k < l->nests.n; k++) t.writer[l->nests.at[k].out] = k;
    for (uint32_t k = 0; k < l->nests.n && n_long < MOST_LONG; k++) {
        const struct nest *n = &l->nests.at[k];
        int steps = MOST_STEPS;
        if (!n->n_reduce || n->matmul) continue;
        spans[n_long] = span(&t, (struct reduced){.R = n}, n, NULL, NULL, 0, &steps);
        if (spans[n_long] > on_chip) found[n_long++] = k;
    }
    for (uint32_t i = n_long; i-- > 0;) { /* those behind it first */
        double kept = 1 - on_chip / spans[i];
        find_needs(&t, found[i]);
        again[i] = 0;
        for (uint32_t k = found[i] + 1; k < l->nests.n; k++)
            if (t.after[k] && t.need[k] * kept > again[i]) again[i] = t.need[k] * kept;
        for (uint32_t j = i + 1; j < n_long; j++) {
            double both = t.need[found[j]] * kept + again[j];
            if (t.after[found[j]] && both > again[i]) again[i] = both;
        }
        if (again[i] > most) most = again[i];
    }
    return most;
}
