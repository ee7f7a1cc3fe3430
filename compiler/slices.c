/* slices.c: a program whose values do not fit memory is computed some rows at a time.
 *
 *   b1[i0: 4096] = reduce amax b0[i0, r0]              rows 0..511:  b1, b2, b3 of these rows
 *   b2[i0: 4096, i1] = exp(b0[i0, i1] - b1[i0])   ->   rows 512..1023: the same memory again
 *   b3[i0: 4096] = reduce sum b2[i0, r0]               ...
 *   b4[] = reduce sum b3[r0]                           afterwards, of all rows
 *
 * A nest goes by slices if its outermost axis has as many steps as the rows of the largest nest, is
 * the first index of what it writes, and of whatever it reads of other such nests. What such nests
 * need otherwise is computed before, what needs more than a slice of them afterwards. Between
 * slices nothing is carried. */
#include "slices.h"

static int64_t extent(const struct loops *l, ex axis) {
    return ex_value(l->ex, ex_symbol(l->ex, axis)->bound);
}

/* Of the nest with the most elements. */
static int64_t rows_of(const struct loops *l) {
    int64_t rows = 1;
    double most = 0;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        double elements = 1;
        for (int i = 0; i < n->n_axes; i++) elements *= (double)extent(l, n->axes[i]);
        if (n->n_axes && elements > most) most = elements, rows = extent(l, n->axes[0]);
    }
    return rows;
}

/* Does the nest write row i of its buffer at step i of its outermost axis? */
static bool writes_rows(const struct loops *l, const struct nest *n, int64_t rows) {
    const struct meta *m = &l->buffers.at[n->out].meta;
    return n->n_axes && n->scan != n->axes[0] && extent(l, n->axes[0]) == rows && m->rank &&
           n->out_index[0] == n->axes[0] && ex_value(l->ex, m->size[0]) == rows;
}

struct slicing {
    const struct loops *l;
    struct slices *out;
    const uint32_t *writer; /* by buffer: one more than the nest that writes it */
};

static bool is_of_slices(const struct slicing *s, buffer_id b) {
    uint32_t k = s->writer[b];
    return k && s->out->nests[k - 1] == SLICE_EACH;
}

static enum slice_phase phase_of(const struct slicing *s, uint32_t nest) {
    const struct nest *n = &s->l->nests.at[nest];
    bool own = writes_rows(s->l, n, s->out->rows), any = false;
    for (inst_id i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind != INST_LOAD || !s->writer[x->buffer]) continue;
        if (s->out->nests[s->writer[x->buffer] - 1] == SLICE_AFTER) return SLICE_AFTER;
        if (!is_of_slices(s, x->buffer)) continue;
        any = true;
        own = own && x->index[0] == n->axes[0];
    }
    return own ? SLICE_EACH : any ? SLICE_AFTER : SLICE_BEFORE;
}

static void keep_whole(const struct slicing *s, const struct nest *n) {
    for (inst_id i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_LOAD) s->out->buffers[n->insts.at[i].buffer] = false;
    s->out->buffers[n->out] = false;
}

struct slices slices_of(const struct loops *l, struct arena *a) {
    struct slices out = {.rows = rows_of(l),
                         .nests = NEW_ARRAY(a, enum slice_phase, l->nests.n),
                         .buffers = NEW_ARRAY(a, bool, l->buffers.n)};
    uint32_t *writer = NEW_ARRAY(a, uint32_t, l->buffers.n);
    struct slicing s = {l, &out, writer};
    for (buffer_id b = 0; b < l->buffers.n; b++)
        out.buffers[b] = l->buffers.at[b].kind != BUFFER_INPUT;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        out.nests[k] = phase_of(&s, k);
        writer[l->nests.at[k].out] = k + 1;
    }
    for (uint32_t k = 0; k < l->nests.n; k++)
        if (out.nests[k] != SLICE_EACH) keep_whole(&s, &l->nests.at[k]);
    return out;
}
