/* slices.c: a program whose values do not fit memory is computed some rows at a time.
 *
 *   b1[i0: 4096] = reduce amax b0[i0, r0]              rows 0..511:  b1, b2, b3 of these rows
 *   b2[i0: 4096, i1] = exp(b0[i0, i1] - b1[i0])   ->   rows 512..1023: the same memory again
 *   b3[i0: 4096] = reduce sum b2[i0, r0]               ...
 *   b4[] = reduce sum b3[r0]                           afterwards, of all rows
 *
 * Rows are as many parts of all elements, in order of memory: of b[i0: 4, i1: 32, i2], 128 rows are
 * i0*32 + i1, and 2 are i0 // 2. A nest goes by slices if its outermost axes make up the rows and
 * are the first indices of what it writes, and its row is that of whatever it reads of other such
 * nests. What such nests need otherwise is computed before, what needs more than a slice of them
 * afterwards; what a larger nest reads of other rows, a mask of all heads, before, too. Between
 * slices nothing is carried. How many rows there are is what can save the most bytes. */
#include "slices.h"

#include <math.h>

#include "schedule/schedule.h"

static int64_t extent(const struct loops *l, ex axis) {
    return ex_value(l->ex, ex_symbol(l->ex, axis)->bound);
}

/* How many of the outermost sizes make up so many rows; 0: none do. */
static int count_outer(const int64_t *size, int n, int64_t rows, int64_t *elements) {
    *elements = 1;
    for (int k = 0; k < n && size[k] > 0; k++) {
        *elements *= size[k];
        if (*elements >= rows) return *elements % rows == 0 ? k + 1 : 0;
    }
    return 0;
}

/* The row of the element at these indices. */
static ex row_at(const struct loops *l, const ex *index, const int64_t *size, int n, int64_t rows,
                 int64_t elements) {
    ex at = ex_const(l->ex, 0);
    for (int k = 0; k < n; k++)
        at = ex_add(l->ex, ex_mul(l->ex, at, ex_const(l->ex, size[k])), index[k]);
    return ex_div(l->ex, at, ex_const(l->ex, elements / rows));
}

static int sizes_of(const struct loops *l, buffer_id b, int64_t *size) {
    const struct meta *m = &l->buffers.at[b].meta;
    for (int d = 0; d < m->rank; d++) size[d] = ex_value(l->ex, m->size[d]);
    return m->rank;
}

/* The row of a buffer that an index is in; EX_NONE: its rows are not together. */
static ex row_of(const struct loops *l, buffer_id b, const ex *index, int64_t rows) {
    int64_t size[WS_MAX_RANK] = {0}, elements;
    int n = count_outer(size, sizes_of(l, b, size), rows, &elements);
    return n ? row_at(l, index, size, n, rows, elements) : EX_NONE;
}

/* The row that the nest writes at each step of its outermost axes; EX_NONE: it goes otherwise. */
static ex row_written(const struct loops *l, const struct nest *n, int64_t rows) {
    int64_t size[WS_MAX_RANK] = {0}, elements;
    for (int k = 0; k < n->n_axes; k++) size[k] = extent(l, n->axes[k]);
    int outer = count_outer(size, n->n_axes, rows, &elements);
    for (int k = 0; k < outer; k++)
        if (n->scan == n->axes[k]) return EX_NONE;
    ex row = outer ? row_at(l, n->axes, size, outer, rows, elements) : EX_NONE;
    return row != EX_NONE && row_of(l, n->out, n->out_index, rows) == row ? row : EX_NONE;
}

struct slicing {
    const struct loops *l;
    struct slices *out;
    const uint32_t *writer; /* by buffer: one more than the nest that writes it */
};

static double elements_of(const struct loops *l, const struct nest *n) {
    double elements = 1;
    for (int i = 0; i < n->n_axes; i++) elements *= (double)extent(l, n->axes[i]);
    return elements;
}

static bool is_of_slices(const struct slicing *s, buffer_id b) {
    uint32_t k = s->writer[b];
    return k && s->out->nests[k - 1] == SLICE_EACH;
}

/* All that a nest is made of is there before the slices, if it is small beside what reads it. */
static bool make_before(const struct slicing *s, uint32_t nest, double most) {
    const struct nest *n = &s->l->nests.at[nest];
    if (s->out->nests[nest] == SLICE_BEFORE) return true;
    if (s->out->nests[nest] == SLICE_AFTER || 2 * elements_of(s->l, n) > most) return false;
    for (inst_id i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind == INST_LOAD && s->writer[x->buffer] &&
            !make_before(s, s->writer[x->buffer] - 1, most))
            return false;
    }
    s->out->nests[nest] = SLICE_BEFORE;
    return true;
}

static enum slice_phase phase_of(const struct slicing *s, uint32_t nest) {
    const struct nest *n = &s->l->nests.at[nest];
    ex row = row_written(s->l, n, s->out->rows);
    bool own = row != EX_NONE, any = false;
    for (inst_id i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind != INST_LOAD || !s->writer[x->buffer]) continue;
        if (s->out->nests[s->writer[x->buffer] - 1] == SLICE_AFTER) return SLICE_AFTER;
        if (!is_of_slices(s, x->buffer)) continue;
        bool here = own && row_of(s->l, x->buffer, x->index, s->out->rows) == row;
        if (own && !here && make_before(s, s->writer[x->buffer] - 1, elements_of(s->l, n)))
            continue;
        any = true;
        own = here;
    }
    return own ? SLICE_EACH : any ? SLICE_AFTER : SLICE_BEFORE;
}

static void keep_whole(const struct slicing *s, const struct nest *n) {
    for (inst_id i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_LOAD) s->out->buffers[n->insts.at[i].buffer] = false;
    s->out->buffers[n->out] = false;
}

static struct slices slices_by(const struct loops *l, int64_t rows, struct arena *a) {
    struct slices out = {.rows = rows,
                         .nests = NEW_ARRAY(a, enum slice_phase, l->nests.n),
                         .buffers = NEW_ARRAY(a, bool, l->buffers.n)};
    uint32_t *writer = NEW_ARRAY(a, uint32_t, l->buffers.n);
    struct slicing s = {l, &out, writer};
    for (uint32_t k = 0; k < l->nests.n; k++) {
        out.nests[k] = phase_of(&s, k);
        writer[l->nests.at[k].out] = k + 1;
    }
    for (buffer_id b = 0; b < l->buffers.n; b++) out.buffers[b] = writer[b] != 0;
    for (uint32_t k = 0; k < l->nests.n; k++)
        if (out.nests[k] != SLICE_EACH) keep_whole(&s, &l->nests.at[k]);
    return out;
}

static double bytes_in_slices(const struct loops *l, const struct slices *s) {
    double bytes = 0;
    for (buffer_id b = 0; b < l->buffers.n; b++)
        if (s->buffers[b]) bytes += (double)buffer_storage(l, b);
    return bytes;
}

struct choice {
    struct slices best;
    double saved; /* bytes, by as many slices as there are rows */
    VEC(int64_t) tried;
};

static void try_rows(const struct loops *l, int64_t rows, struct choice *c, struct arena *a) {
    for (uint32_t t = 0; t < c->tried.n; t++)
        if (c->tried.at[t] == rows) return;
    vec_push(a, &c->tried, rows);
    struct slices s = slices_by(l, rows, a);
    double saved = bytes_in_slices(l, &s) * (1 - 1 / (double)rows);
    if (saved > c->saved || rows == 1) c->best = s, c->saved = saved;
}

/* Rows are as many as some outermost axes of a nest with the most elements have together. */
struct slices slices_of(const struct loops *l, struct arena *a) {
    enum { TRIES = 8 };
    struct choice c = {0};
    double most = 0;
    for (uint32_t k = 0; k < l->nests.n; k++) most = fmax(most, elements_of(l, &l->nests.at[k]));
    try_rows(l, 1, &c, a);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        int64_t rows = 1;
        for (int i = 0; elements_of(l, n) == most && i < n->n_axes; i++) {
            rows *= extent(l, n->axes[i]);
            if (rows > 0 && c.tried.n < TRIES) try_rows(l, rows, &c, a);
        }
    }
    return c.best;
}
