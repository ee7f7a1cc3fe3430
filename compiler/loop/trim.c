/* trim.c: elements that nobody reads are not computed, where all that is read of a tensor is a
 * slice:
 *
 *   b1[i0: 8, i1: 67] = f32 convolve, reduce r0: 4     ->     b1[i0: 8, i1: 64] = ...
 *   b2[i0: 8, i1: 64] = f32 silu
 *       v0 = load b1[i0, i1]
 *
 * It has the reader's size then, and can be one kernel with it. Not of windows that leave the last
 * column out: a row would only lose its vectors.
 *
 * Needs: loops that no schedule looks at yet. Keeps: which nests and buffers there are. */
#include "loop/lower_impl.h"

struct span_read {
    int64_t first, last; /* of what is read; empty: first > last */
    bool slice;          /* a reader goes over just that, element by element */
};

/* Is e an index that runs over n neighbours, and where does it begin? */
static bool is_run(struct exprs *p, ex e, int64_t n) {
    ex syms[2], c, rest;
    int64_t step, length;
    return ex_symbols(p, e, syms, 2) == 1 && ex_linear(p, e, syms[0], &c, &rest) &&
           ex_is_const(p, c, &step) && step == 1 && ex_symbol(p, syms[0])->bound != EX_NONE &&
           ex_is_const(p, ex_symbol(p, syms[0])->bound, &length) && length == n;
}

/* Who reads which buffer: loads of buffer b are at[first[b]] .. at[first[b + 1] - 1]. */
struct readers {
    struct loops *l;
    struct inst **at;
    uint32_t *first;
};

static bool is_load(const struct inst *i) { return i->kind == INST_LOAD; }

static struct readers readers_of(struct loops *l) {
    struct readers r = {.l = l, .first = NEW_ARRAY(l->arena, uint32_t, l->buffers.n + 2)};
    uint32_t *end = r.first + 1;
    for (uint32_t k = 0; k < l->nests.n; k++)
        for (uint32_t i = 0; i < l->nests.at[k].insts.n; i++)
            if (is_load(&l->nests.at[k].insts.at[i])) end[l->nests.at[k].insts.at[i].buffer + 1]++;
    for (buffer_id b = 0; b < l->buffers.n; b++) end[b + 1] += end[b];
    r.at = NEW_ARRAY(l->arena, struct inst *, end[l->buffers.n] + 1);
    for (uint32_t k = 0; k < l->nests.n; k++)
        for (uint32_t i = 0; i < l->nests.at[k].insts.n; i++) {
            struct inst *load = &l->nests.at[k].insts.at[i];
            if (is_load(load)) r.at[end[load->buffer]++] = load;
        }
    return r;
}

static struct span_read what_is_read(const struct readers *r, buffer_id b, int dim, int64_t size) {
    struct span_read s = {.first = size, .last = -1};
    for (uint32_t i = r->first[b]; i < r->first[b + 1]; i++) {
        int64_t lo, hi;
        ex_range(r->l->ex, r->at[i]->index[dim], &lo, &hi);
        if (lo < s.first) s.first = lo;
        if (hi > s.last) s.last = hi;
    }
    for (uint32_t i = r->first[b]; i < r->first[b + 1]; i++)
        s.slice |= is_run(r->l->ex, r->at[i]->index[dim], s.last - s.first + 1);
    return s;
}

static void replace_axis(struct loops *l, struct nest *n, ex from, ex to) {
    for (uint32_t i = 0; i < n->insts.n; i++)
        for (int d = 0; d < n->insts.at[i].n_index; d++)
            n->insts.at[i].index[d] = ex_subst(l->ex, n->insts.at[i].index[d], &from, &to, 1);
}

/* Dimension `dim` of what n computes becomes its elements first .. last, of which there are two or
 * more. */
static void trim(struct readers *r, struct nest *n, int dim, int64_t first, int64_t last) {
    struct loops *l = r->l;
    struct exprs *p = l->ex;
    struct buffer *b = &l->buffers.at[n->out];
    struct meta *m = &b->meta;
    ex old = n->out_index[dim], shift = ex_const(p, first);
    m->size[dim] = ex_const(p, last - first + 1);
    if (!b->first) b->first = NEW_ARRAY(l->arena, int64_t, m->rank);
    b->first[dim] += first;
    meta_contiguous(p, m);
    ex now = ex_index(p, ex_symbol(p, old)->name, m->size[dim]);
    for (int k = 0; k < n->n_axes; k++)
        if (n->axes[k] == old) n->axes[k] = now;
    if (n->scan == old) n->scan = now;
    n->out_index[dim] = now;
    replace_axis(l, n, old, ex_add(p, now, shift));
    for (uint32_t i = r->first[n->out]; i < r->first[n->out + 1]; i++)
        r->at[i]->index[dim] = ex_sub(p, r->at[i]->index[dim], shift);
}

/* The last nest first: what it does not compute it does not read. */
void loops_trim(struct loops *l) {
    struct readers r = readers_of(l);
    for (uint32_t k = l->nests.n; k-- > 0;) {
        struct nest *n = &l->nests.at[k];
        const struct buffer *b = &l->buffers.at[n->out];
        int64_t size;
        for (int d = 0; d < b->meta.rank && b->kind == BUFFER_TEMP; d++) {
            if (!ex_is_const(l->ex, b->meta.size[d], &size) || size < 2) continue;
            struct span_read s = what_is_read(&r, n->out, d, size);
            if (n->scan == n->out_index[d]) s.first = 0; /* it adds up what was before */
            if (s.first < 0 || s.last >= size || s.last - s.first + 1 == size) continue;
            if (s.slice && s.last > s.first) trim(&r, n, d, s.first, s.last);
        }
    }
}
