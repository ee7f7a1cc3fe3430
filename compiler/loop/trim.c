/* trim.c: elements that nobody reads are not computed, where all that is read of a tensor is a
 * slice:
 *
 *   b1[i0: 8, i1: 67] = f32 convolve, reduce r0: 4     ->     b1[i0: 8, i1: 64] = ...
 *   b2[i0: 8, i1: 64] = f32 silu
 *       v0 = load b1[i0, i1]
 *
 * It has the reader's size then, and can be one kernel with it. If all that is read of a dimension
 * is every second element, or further apart, the others are not computed either:
 *
 *   b1[i0: 8, i1: 64] = f32 sum, reduce r0: 256    ->     b1[i0: 8, i1: 27] = ...[3 + 2*i1]
 *   b2[i0: 8, i1: 27] = load b1[i0, 3 + 2*i1]
 *
 * Not of windows that leave the last
 * column out: a row would only lose its vectors.
 *
 * And columns of a product that are a result as they are, which nobody else reads, are a product of
 * their own, which stores them where they belong; the others are not stored for it, and it reads
 * nothing twice but a factor:
 *
 *   b1[i0: 8192, i1: 12288] = bf16 mm         ->     b1[i0: 8192, i1: 8192] = bf16 mm
 *   b2[i0: 32, i1: 8192, i2: 128] = bf16 v           b3[i0: 8192, i1: 4096] = bf16 mm
 *       v0 = load b1[i1, i0*128 + i2 + 8192]         b2[i0: 32, i1: 8192, i2: 128] = bf16 v
 *                                                        v0 = load b3[i1, i0*128 + i2]
 *
 * Needs: loops that no schedule looks at yet. Keeps: what nests compute; trimming keeps which there
 * are, too. */
#include <string.h>

#include "loop/lower_impl.h"

struct span_read {
    int64_t first, last; /* of what is read; empty: first > last */
    int64_t step;        /* nothing between is read */
    bool slice;          /* a reader goes over just that, element by element */
};

/* e as first + step * an index of so many values; NULL: it is none. */
struct run {
    ex axis;
    int64_t first, step, length;
};

static bool run_of(struct exprs *p, ex e, struct run *out) {
    ex syms[2], c, rest;
    return ex_symbols(p, e, syms, 2) == 1 && ex_linear(p, e, syms[0], &c, &rest) &&
           ex_is_const(p, c, &out->step) && ex_is_const(p, rest, &out->first) &&
           ex_symbol(p, out->axis = syms[0])->bound != EX_NONE &&
           ex_is_const(p, ex_symbol(p, syms[0])->bound, &out->length);
}

/* Is e an index that runs over n elements, so far apart? */
static bool is_run(struct exprs *p, ex e, int64_t n, int64_t step) {
    struct run run;
    return run_of(p, e, &run) && run.step == step && run.length == n;
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

/* How far apart what is read from `first` on lies, at least; 1: it may be anywhere. */
static int64_t step_read(const struct readers *r, buffer_id b, int dim, int64_t first) {
    int64_t step = 0;
    for (uint32_t i = r->first[b]; i < r->first[b + 1]; i++) {
        struct run run;
        if (!run_of(r->l->ex, r->at[i]->index[dim], &run) || run.step <= 0) return 1;
        step = common_divisor(common_divisor(step, run.step), run.first - first);
    }
    return step ? step : 1;
}

static struct span_read what_is_read(const struct readers *r, buffer_id b, int dim, int64_t size) {
    struct span_read s = {.first = size, .last = -1};
    for (uint32_t i = r->first[b]; i < r->first[b + 1]; i++) {
        int64_t lo, hi;
        ex_range(r->l->ex, r->at[i]->index[dim], &lo, &hi);
        if (lo < s.first) s.first = lo;
        if (hi > s.last) s.last = hi;
    }
    s.step = step_read(r, b, dim, s.first);
    for (uint32_t i = r->first[b]; i < r->first[b + 1]; i++)
        s.slice |= is_run(r->l->ex, r->at[i]->index[dim], (s.last - s.first) / s.step + 1, s.step);
    return s;
}

static void replace_axis(struct loops *l, struct nest *n, ex from, ex to) {
    for (uint32_t i = 0; i < n->insts.n; i++)
        for (int d = 0; d < n->insts.at[i].n_index; d++)
            n->insts.at[i].index[d] = ex_subst(l->ex, n->insts.at[i].index[d], &from, &to, 1);
}

/* Dimension `dim` of what n computes becomes its elements first .. last, every step-th of them, of
 * which there are two or more. */
static void trim(struct readers *r, struct nest *n, int dim, int64_t first, int64_t last,
                 int64_t step) {
    struct loops *l = r->l;
    struct exprs *p = l->ex;
    struct buffer *b = &l->buffers.at[n->out];
    struct meta *m = &b->meta;
    ex old = n->out_index[dim], shift = ex_const(p, first);
    m->size[dim] = ex_const(p, (last - first) / step + 1);
    if (!b->first) b->first = NEW_ARRAY(l->arena, int64_t, m->rank);
    b->first[dim] += first;
    if (step > 1) b->node = 0; /* it holds no part of it that is whole */
    meta_contiguous(p, m);
    ex now = ex_index(p, ex_symbol(p, old)->name, m->size[dim]);
    for (int k = 0; k < n->n_axes; k++)
        if (n->axes[k] == old) n->axes[k] = now;
    if (n->scan == old) n->scan = now;
    n->out_index[dim] = now;
    replace_axis(l, n, old, ex_add(p, ex_mul(p, ex_const(p, step), now), shift));
    for (uint32_t i = r->first[n->out]; i < r->first[n->out + 1]; i++) {
        struct run run;
        ex *index = &r->at[i]->index[dim];
        if (step == 1)
            *index = ex_sub(p, *index, shift);
        else if (run_of(p, *index, &run))
            *index = ex_add(p, ex_mul(p, ex_const(p, run.step / step), run.axis),
                            ex_const(p, (run.first - first) / step));
    }
}

/* The same with what lies between: what a scan needs, and products, whose columns lie side by side.
 */
static struct span_read in_full(const struct readers *r, const struct nest *n, int dim,
                                struct span_read s) {
    if (s.step == 1) return s;
    s.step = 1;
    s.slice = false;
    for (uint32_t i = r->first[n->out]; i < r->first[n->out + 1]; i++)
        s.slice |= is_run(r->l->ex, r->at[i]->index[dim], s.last - s.first + 1, 1);
    return s;
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
            if (n->scan == n->out_index[d] || n->matmul) s = in_full(&r, n, d, s);
            if (s.first < 0 || s.last >= size || s.last - s.first + s.step == size) continue;
            if (s.slice && s.last > s.first) trim(&r, n, d, s.first, s.last, s.step);
        }
    }
}

/* Of the columns of what nest k computes: those that one nest alone reads, all of them, to store
 * them as a result. The others are what is in front of them, or behind. */
struct columns {
    uint32_t by; /* nest */
    int64_t first, last, size, rows;
};

static bool stores_as_it_is(const struct loops *l, const struct nest *n) {
    const struct inst *x = &n->insts.at[0];
    return n->insts.n == 1 && x->kind == INST_LOAD && !x->guarded &&
           l->buffers.at[n->out].kind == BUFFER_OUTPUT;
}

/* How many elements it stores; 0: nobody knows. */
static int64_t elements_of(const struct loops *l, const struct nest *n) {
    int64_t all = 1, size;
    for (int k = 0; k < n->n_axes; k++) {
        if (!ex_is_const(l->ex, ex_symbol(l->ex, n->axes[k])->bound, &size)) return 0;
        all *= size;
    }
    return all;
}

static bool find_columns(const struct readers *r, const struct nest *n, struct columns *c) {
    const struct loops *l = r->l;
    int dim = l->buffers.at[n->out].meta.rank - 1;
    int64_t all = elements_of(l, n);
    if (!all || !ex_is_const(l->ex, l->buffers.at[n->out].meta.size[dim], &c->size)) return false;
    c->rows = all / c->size;
    for (c->by = 0; c->by < l->nests.n; c->by++) {
        const struct nest *by = &l->nests.at[c->by];
        if (!stores_as_it_is(l, by) || by->insts.at[0].buffer != n->out) continue;
        ex_range(l->ex, by->insts.at[0].index[dim], &c->first, &c->last);
        int64_t width = c->last - c->first + 1;
        bool ok = (c->first == 0) != (c->last == c->size - 1) && c->first >= 0 &&
                  c->last < c->size && elements_of(l, by) == c->rows * width;
        for (uint32_t i = r->first[n->out]; i < r->first[n->out + 1] && ok; i++) {
            int64_t lo, hi;
            if (r->at[i] == &by->insts.at[0]) continue;
            ex_range(l->ex, r->at[i]->index[dim], &lo, &hi);
            ok = hi < c->first || lo > c->last;
        }
        if (ok) return true;
    }
    return false;
}

/* The same nest once more, behind the first one, with axes and a buffer of its own. */
static void double_nest(struct loops *l, uint32_t k) {
    struct exprs *p = l->ex;
    struct nest twin = l->nests.at[k];
    ex from[2 * WS_MAX_RANK], to[2 * WS_MAX_RANK];
    int axes = 0;
    for (int i = 0; i < twin.n_axes; i++, axes++) {
        const struct ex_symbol *s = ex_symbol(p, from[axes] = twin.axes[i]);
        twin.axes[i] = to[axes] = ex_index(p, s->name, s->bound);
    }
    for (int i = 0; i < twin.n_reduce; i++, axes++) {
        const struct ex_symbol *s = ex_symbol(p, from[axes] = twin.reduce[i]);
        twin.reduce[i] = to[axes] = ex_index(p, s->name, s->bound);
    }
    struct buffer b = l->buffers.at[twin.out];
    twin.out = l->buffers.n;
    b.name = arena_printf(l->arena, "b%u", twin.out);
    if (b.first) {
        int64_t *first = NEW_ARRAY(l->arena, int64_t, b.meta.rank);
        memcpy(first, b.first, (size_t)b.meta.rank * sizeof *first);
        b.first = first;
    }
    vec_push(l->arena, &l->buffers, b);
    for (int d = 0; d < b.meta.rank; d++)
        twin.out_index[d] = ex_subst(p, twin.out_index[d], from, to, axes);
    memset(&twin.insts, 0, sizeof twin.insts);
    for (uint32_t i = 0; i < l->nests.at[k].insts.n; i++) {
        struct inst x = l->nests.at[k].insts.at[i];
        for (int d = 0; d < x.n_index; d++) x.index[d] = ex_subst(p, x.index[d], from, to, axes);
        vec_push(l->arena, &twin.insts, x);
    }
    vec_push(l->arena, &l->nests, twin);
    memmove(&l->nests.at[k + 2], &l->nests.at[k + 1], (l->nests.n - k - 2) * sizeof twin);
    l->nests.at[k + 1] = twin;
}

void loops_results_apart(struct loops *l, int units) {
    /* Both products have so many tiles for each multiprocessor that their last rounds, and a launch
     * more, are a small part of them. */
    enum { TILE = 128 * 256, ROUNDS = 4 };
    struct readers r = readers_of(l);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        struct columns c;
        bool steps = loop_of(n->epoch) != NO_LOOP, looks_up = false;
        for (uint32_t i = 0; i < n->insts.n; i++) looks_up |= n->insts.at[i].kind == INST_SUBSCRIPT;
        if (!n->matmul || steps || looks_up || l->buffers.at[n->out].kind != BUFFER_TEMP) continue;
        if (elements_of(l, n) / TILE < (int64_t)2 * ROUNDS * units) continue;
        if (!find_columns(&r, n, &c)) continue;
        int64_t width = c.last - c.first + 1, rest = c.size - width,
                least = width < rest ? width : rest;
        if (c.rows * least / TILE < (int64_t)ROUNDS * units) continue;
        int dim = l->buffers.at[n->out].meta.rank - 1;
        l->nests.at[c.by].insts.at[0].buffer = l->buffers.n;
        double_nest(l, k);
        r = readers_of(l);
        trim(&r, &l->nests.at[k], dim, c.first ? 0 : c.last + 1, c.first ? c.first - 1 : c.size - 1,
             1);
        trim(&r, &l->nests.at[k + 1], dim, c.first, c.last, 1);
        r = readers_of(l);
        k--; /* the others may have such columns, too */
    }
}
