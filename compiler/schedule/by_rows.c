/* by_rows.c: a reduction of more axes than the rows that it stands on, or lies beside, goes along
 * these rows first.
 *
 *   a[i0] = amax r0: 8192 of x[i0, r0]
 *   s[i0] = sum r0: 8192 of exp(x[i0, r0] - a[i0])
 *   y     = sum r0: 4096, r1: 8192 of f(x[r0, r1], a[r0], s[r0])      reads x once more
 * ->
 *   b[i0] = sum r0: 8192 of f(x[i0, r0], a[i0], s[i0])                rows, as a and s are
 *   y     = sum r0: 4096 of b[r0]
 *
 * A kernel has one kind of rows, so y could not be in the one that reads x for a and s, and much of
 * f would be stored for it; b can. What a row comes to is kept in opmath.
 *
 * Beside: y need not stand on rows to read what they are made of.
 *
 *   a[i0] = amax r0: 8192 of x[i0, r0]
 *   y     = sum r0: 4096, r1: 8192 of x[r0, r1]                       reads x once more
 * ->
 *   b[i0] = sum r0: 8192 of x[i0, r0]                                 beside a
 *   y     = sum r0: 4096 of b[r0]
 *
 * Only if the same elements are read by both, and they are more memory than what the rows come
 * to, which is stored and read again; if there are rows for all of the device (see too_few_rows
 * in fuse.c), or what lies beside has few of them anyway; and if nothing but such rows stands
 * between them, which would be another kernel. Where a reshape lies between, rows are told by
 * parts of axes, such as r0 // 8192, which are split first. What is left of y is a launch more,
 * and may be wanted by what b was one kernel with, so the program is fused both ways, and all
 * cuts of a kind stay or go with what its kernels move. A long program has none. Few long rows are
 * cut into slabs for what goes across them (cut_slabs).
 *
 * Needs: loops that no schedule looks at yet, after nested.c, which does the reverse. Keeps: which
 * nests there are and their order; new ones come before those that read them. */
#include <math.h>

#include "schedule/fuse.h"

enum {
    LAUNCH_BYTES = 4 << 20, /* what a GPU moves in the time of a launch; a CPU */
    LAUNCH_BYTES_CPU = 1 << 18,
    MAX_COMPARED = 512, /* nests: to fuse more of them three times takes seconds */
};

/* What is read, in the axes of the nest that it is read for. */
struct leaf {
    buffer_id buffer;
    ex index[WS_MAX_RANK];
};

struct leaves {
    struct map seen;
    VEC(struct leaf) at;
};

struct by_rows {
    struct loops *l;
    const struct device_limits *limits;
    bool beside;           /* by what lies beside, too */
    bool few;              /* and be these few: they are there anyway */
    uint32_t *writer;      /* per buffer; NO_NEST for inputs */
    struct leaves *leaves; /* beside: per nest, of those that reduce; its own axes as they are */
};

/* A reduction as two: along `inner`, for each of `outer`, as is done for the rows that it reads. */
struct cut {
    struct leaf rows;
    int n_outer, n_inner; /* n_inner: 0 if there is no such cut */
    ex outer[WS_MAX_RANK], inner[WS_MAX_RANK];
};

static void find_writers(struct by_rows *s) {
    struct loops *l = s->l;
    s->writer = NEW_ARRAY(l->arena, uint32_t, l->buffers.n);
    for (buffer_id b = 0; b < l->buffers.n; b++) s->writer[b] = NO_NEST;
    for (uint32_t k = 0; k < l->nests.n; k++) s->writer[l->nests.at[k].out] = k;
}

static bool is_pointwise(const struct nest *n) { return !n->n_reduce && !n->scan; }

/* Does it go along rows in a kernel that others may reduce the same rows in? A CPU's scans have
 * none. */
static bool has_rows(const struct by_rows *s, const struct nest *n) {
    return (n->n_reduce && !n->matmul) || (n->scan && s->limits->kind == DEVICE_CUDA);
}

/* The axes along which it reduces, or scans. */
static int axes_along(const struct nest *n, ex *along) {
    if (n->scan) along[0] = n->scan;
    if (n->scan) return 1;
    memcpy(along, n->reduce, sizeof(ex) * (size_t)n->n_reduce);
    return n->n_reduce;
}

/* The axes of n, which out is read by at `index`, as what they are there. */
static int axes_at(const struct by_rows *s, const struct nest *n, const ex *index, ex *from,
                   ex *to) {
    int count = 0;
    for (int d = 0; d < s->l->buffers.at[n->out].meta.rank; d++)
        if (ex_kind(s->l->ex, n->out_index[d]) == EX_SYM) {
            from[count] = n->out_index[d];
            to[count++] = index[d];
        }
    return count;
}

/* What nest n reads, through pointwise nests, if its axes `from` are `to`. */
static void add_leaves(const struct by_rows *s, struct leaves *o, const struct nest *n,
                       const ex *from, const ex *to, int count) {
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        struct leaf leaf = {.buffer = x->buffer};
        ex axes[WS_MAX_RANK], at[WS_MAX_RANK];
        if (x->kind != INST_LOAD) continue;
        for (int d = 0; d < x->n_index; d++)
            leaf.index[d] = ex_subst(s->l->ex, x->index[d], from, to, count);
        if (!map_put(&o->seen, &leaf, sizeof leaf, 1)) continue;
        uint32_t w = s->writer[x->buffer];
        if (w == NO_NEST || !is_pointwise(&s->l->nests.at[w])) {
            vec_push(s->l->arena, &o->at, leaf);
            continue;
        }
        int rank = axes_at(s, &s->l->nests.at[w], leaf.index, axes, at);
        add_leaves(s, o, &s->l->nests.at[w], axes, at, rank);
    }
}

/* What nest n makes, the same. */
static void add_result(const struct by_rows *s, struct leaves *o, const struct nest *n,
                       const ex *from, const ex *to, int count) {
    struct leaf leaf = {.buffer = n->out};
    for (int d = 0; d < s->l->buffers.at[n->out].meta.rank; d++)
        leaf.index[d] = ex_subst(s->l->ex, n->out_index[d], from, to, count);
    vec_push(s->l->arena, &o->at, leaf);
}

static bool has_leaf(const struct leaves *o, const struct leaf *x) {
    for (uint32_t i = 0; i < o->at.n; i++)
        if (memcmp(&o->at.at[i], x, sizeof *x) == 0) return true;
    return false;
}

/* Is it read elsewhere as one of these axes goes on? */
static bool varies(const struct by_rows *s, const struct leaf *x, const ex *axes, int n) {
    for (int d = 0; d < s->l->buffers.at[x->buffer].meta.rank; d++)
        for (int k = 0; k < n; k++)
            if (ex_uses(s->l->ex, x->index[d], axes[k])) return true;
    return false;
}

static ex bound_of(const struct by_rows *s, ex axis) { return ex_symbol(s->l->ex, axis)->bound; }

static ex numel_of(const struct by_rows *s, const ex *axes, int n) {
    ex numel = ex_const(s->l->ex, 1);
    for (int k = 0; k < n; k++) numel = ex_mul(s->l->ex, numel, bound_of(s, axes[k]));
    return numel;
}

/* n cut into the rows that `below` has where it is read, or would be, and what they are reduced
 * along; false if that is nothing, all, or not what `below` goes along. */
static bool cut_by(const struct by_rows *s, const struct nest *n, const struct leaf *x,
                   struct cut *c) {
    uint32_t w = s->writer[x->buffer];
    ex along[WS_MAX_RANK];
    if (w == NO_NEST || !has_rows(s, &s->l->nests.at[w])) return false;
    const struct nest *below = &s->l->nests.at[w];
    int n_along = axes_along(below, along);
    *c = (struct cut){.rows = *x};
    for (int d = 0; d < s->l->buffers.at[x->buffer].meta.rank && below->scan; d++)
        if (ex_uses(s->l->ex, below->out_index[d], below->scan)) /* of a row, not of an element */
            c->rows.index[d] = ex_const(s->l->ex, 0);
    for (int r = 0; r < n->n_reduce; r++) {
        if (varies(s, &c->rows, &n->reduce[r], 1))
            c->outer[c->n_outer++] = n->reduce[r];
        else
            c->inner[c->n_inner++] = n->reduce[r];
    }
    return c->n_outer && c->n_inner &&
           numel_of(s, c->inner, c->n_inner) == numel_of(s, along, n_along);
}

static bool same_cut(const struct cut *a, const struct cut *b) {
    return a->n_inner == b->n_inner &&
           memcmp(a->inner, b->inner, sizeof(ex) * (size_t)a->n_inner) == 0;
}

/* Per nest: is it `below`, or needs it that? */
static bool *standing_on(const struct by_rows *s, uint32_t below) {
    bool *stands = NEW_ARRAY(s->l->arena, bool, s->l->nests.n);
    stands[below] = true;
    for (uint32_t k = below + 1; k < s->l->nests.n; k++) {
        const struct nest *n = &s->l->nests.at[k];
        for (uint32_t i = 0; i < n->insts.n && !stands[k]; i++) {
            const struct inst *x = &n->insts.at[i];
            uint32_t w = x->kind == INST_LOAD ? s->writer[x->buffer] : NO_NEST;
            stands[k] = w != NO_NEST && stands[w];
        }
    }
    return stands;
}

/* Does n also read what stands on c->rows, but has other rows or none? */
static bool another_between(const struct by_rows *s, const struct nest *n,
                            const struct leaves *read, const struct cut *c) {
    const bool *stands = standing_on(s, s->writer[c->rows.buffer]);
    for (uint32_t i = 0; i < read->at.n; i++) {
        struct cut other;
        uint32_t w = s->writer[read->at.at[i].buffer];
        if (w == NO_NEST || !stands[w]) continue;
        if (!cut_by(s, n, &read->at.at[i], &other) || !same_cut(c, &other)) return true;
    }
    return false;
}

/* Do neighbours in memory belong to different rows? */
static bool rows_are_inner(const struct by_rows *s, const struct leaf *x, const struct cut *c) {
    const struct meta *m = &s->l->buffers.at[x->buffer].meta;
    for (int d = 0; d < m->rank; d++)
        for (int r = 0; r < c->n_inner && m->stride[d] == ex_const(s->l->ex, 1); r++)
            if (ex_uses(s->l->ex, x->index[d], c->inner[r])) return false;
    return true;
}

/* The axes along which `below` goes by what c->inner is: in both, elements follow each other alike.
 */
static void axes_of_inner(const struct by_rows *s, const ex *along, int n, const struct cut *c,
                          ex *to) {
    struct exprs *p = s->l->ex;
    ex number = ex_const(p, 0);
    for (int r = 0; r < c->n_inner; r++)
        number = ex_add(p, ex_mul(p, number, bound_of(s, c->inner[r])), c->inner[r]);
    for (int r = n - 1; r >= 0; r--) {
        ex size = bound_of(s, along[r]);
        to[r] = r ? ex_mod(p, number, size) : number;
        number = ex_div(p, number, size);
    }
}

/* Bytes of the rows' elements that n need not read, as `below` does, if they are one kernel;
 * *rows_inner tells how most of them lie. */
static int64_t bytes_shared(const struct by_rows *s, const struct leaves *read, const struct cut *c,
                            bool *rows_inner) {
    const struct nest *below = &s->l->nests.at[s->writer[c->rows.buffer]];
    struct leaves o = {.seen = map_new(s->l->arena)};
    ex from[2 * WS_MAX_RANK], to[2 * WS_MAX_RANK];
    int64_t shared = 0, most = 0;
    int n_along = axes_along(below, from); /* these first: a scan is read at its own, too */
    axes_of_inner(s, from, n_along, c, to);
    int count = n_along + axes_at(s, below, c->rows.index, from + n_along, to + n_along);
    add_leaves(s, &o, below, from, to, count);
    if (below->scan) add_result(s, &o, below, from, to, count);
    for (uint32_t i = 0; i < o.at.n; i++) {
        const struct leaf *x = &o.at.at[i];
        int64_t bytes = buffer_bytes(s->l, x->buffer);
        bool element = varies(s, x, c->inner, c->n_inner) && varies(s, x, c->outer, c->n_outer);
        if (!element || !has_leaf(read, x)) continue;
        shared += bytes;
        if (bytes <= most) continue;
        most = bytes;
        *rows_inner = rows_are_inner(s, x, c);
    }
    return shared;
}

/* Bytes saved by a cut of n; 0 if that is no gain. */
static int64_t gain(const struct by_rows *s, const struct nest *n, const struct leaves *read,
                    const struct cut *c, bool few) {
    bool rows_inner = false;
    int64_t rows = axes_numel(s->l, n->axes, n->n_axes) * axes_numel(s->l, c->outer, c->n_outer);
    int64_t columns = axes_numel(s->l, c->inner, c->n_inner);
    int bytes = dtype_bytes(dtype_opmath(n->insts.at[n->insts.n - 1].dtype));
    int64_t saved = bytes_shared(s, read, c, &rows_inner) - 2 * rows * bytes;
    bool apart = !few && device_rows_apart(s->limits, rows, columns, rows_inner);
    if (saved <= 0 || apart) return 0;
    return another_between(s, n, read, c) ? 0 : saved;
}

/* Reduce axis r of n becomes two, the inner one of size q. */
static void split_axis(const struct by_rows *s, struct nest *n, int r, ex q) {
    struct exprs *p = s->l->ex;
    const struct nest was = *n;
    ex axis = n->reduce[r];
    const char *name = ex_symbol(p, axis)->name;
    ex outer = ex_index(p, arena_printf(s->l->arena, "%sa", name), ex_div(p, bound_of(s, axis), q));
    ex inner = ex_index(p, arena_printf(s->l->arena, "%sb", name), q);
    ex both = ex_add(p, ex_mul(p, outer, q), inner);
    memmove(&n->reduce[r + 1], &n->reduce[r], sizeof(ex) * (size_t)(n->n_reduce - r));
    n->reduce[r] = outer;
    n->reduce[r + 1] = inner;
    n->n_reduce++;
    memset(&n->insts, 0, sizeof n->insts);
    for (uint32_t i = 0; i < was.insts.n; i++) {
        struct inst x = was.insts.at[i];
        for (int d = 0; d < x.n_index && x.kind != INST_SUBSCRIPT; d++)
            x.index[d] = ex_subst(p, x.index[d], &axis, &both, 1);
        vec_push(s->l->arena, &n->insts, x);
    }
}

/* Splits an axis that a row has a part of: r0 // 8 is the row of r0. */
static bool split_divided(const struct by_rows *s, struct nest *n, const struct leaves *read) {
    struct exprs *p = s->l->ex;
    if (n->n_axes + n->n_reduce == WS_MAX_RANK) return false;
    for (uint32_t i = 0; i < read->at.n; i++) {
        const struct leaf *x = &read->at.at[i];
        uint32_t w = s->writer[x->buffer];
        if (w == NO_NEST || !s->l->nests.at[w].n_reduce) continue;
        for (int d = 0; d < s->l->buffers.at[x->buffer].meta.rank; d++)
            for (int r = 0; r < n->n_reduce; r++) {
                ex size = bound_of(s, n->reduce[r]), q = axis_divisor(p, x->index[d], n->reduce[r]);
                int64_t lo, hi;
                if (!q || q == size || ex_mul(p, ex_div(p, size, q), q) != size) continue;
                ex_range(p, q, &lo, &hi);
                if (lo <= 1) continue;
                split_axis(s, n, r, q);
                return true;
            }
    }
    return false;
}

/* ---- what lies beside ------------------------------------------------------------------------ */

/* Axes of one nest as another one's. */
struct matched {
    int n;
    ex from[2 * WS_MAX_RANK], to[2 * WS_MAX_RANK];
};

/* The only axis in e; EX_NONE if there is none, or another symbol. */
static ex only_axis(const struct by_rows *s, ex e) {
    ex axes[2];
    if (ex_symbols(s->l->ex, e, axes, 2) != 1) return EX_NONE;
    return ex_symbol(s->l->ex, axes[0])->bound ? axes[0] : EX_NONE;
}

/* Is index `from` the same as `to`, its one axis being another of that size? */
static bool match_index(const struct by_rows *s, struct matched *m, ex from, ex to) {
    ex a = only_axis(s, from), b = only_axis(s, to);
    if (a == EX_NONE || b == EX_NONE) return from == to;
    if (bound_of(s, a) != bound_of(s, b) || ex_subst(s->l->ex, from, &a, &b, 1) != to) return false;
    for (int k = 0; k < m->n; k++)
        if (m->from[k] == a || m->to[k] == b) return m->from[k] == a && m->to[k] == b;
    m->from[m->n] = a;
    m->to[m->n++] = b;
    return true;
}

/* Where `beside` would be read by n, if both go along the same elements of x and y, which they read
 * of one buffer, and n reduces all that `beside` does. */
static bool rows_beside(const struct by_rows *s, const struct nest *n, const struct leaf *y,
                        const struct nest *beside, const struct leaf *x, struct leaf *rows) {
    struct matched m = {0};
    ex along[WS_MAX_RANK];
    int n_along = axes_along(beside, along);
    *rows = (struct leaf){.buffer = beside->out};
    for (int d = 0; d < s->l->buffers.at[x->buffer].meta.rank; d++)
        if (!match_index(s, &m, x->index[d], y->index[d])) return false;
    if (m.n != beside->n_axes + beside->n_reduce || m.n != n->n_axes + n->n_reduce) return false;
    for (int r = 0; r < n_along; r++) {
        bool reduced = false;
        for (int k = 0; k < m.n * n->n_reduce; k++)
            reduced |= m.from[k / n->n_reduce] == along[r] &&
                       m.to[k / n->n_reduce] == n->reduce[k % n->n_reduce];
        if (!reduced) return false;
    }
    for (int d = 0; d < s->l->buffers.at[beside->out].meta.rank; d++)
        rows->index[d] = ex_subst(s->l->ex, beside->out_index[d], m.from, m.to, m.n);
    return true;
}

/* Is nest k a reduction or scan beside n, and does neither need the other? */
static bool lies_beside(const struct by_rows *s, uint32_t n, uint32_t k) {
    const struct nest *N = &s->l->nests.at[n], *K = &s->l->nests.at[k];
    if (k == n || !has_rows(s, K) || K->epoch != N->epoch || K->chain != N->chain) return false;
    return K->n_reduce + (K->scan != EX_NONE) < N->n_reduce &&
           !standing_on(s, k < n ? k : n)[k < n ? n : k];
}

/* The cut of nest k by rows beside it that saves more than *most. */
static void best_beside(const struct by_rows *s, uint32_t k, const struct leaves *read,
                        int64_t *most, struct cut *best) {
    const struct nest *n = &s->l->nests.at[k];
    struct leaf rows;
    struct cut c;
    for (uint32_t b = 0; b < s->l->nests.n; b++)
        for (uint32_t i = 0; i < s->leaves[b].at.n; i++)
            for (uint32_t j = 0; j < read->at.n; j++) {
                const struct leaf *x = &s->leaves[b].at.at[i], *y = &read->at.at[j];
                if (x->buffer != y->buffer || buffer_bytes(s->l, x->buffer) <= *most) continue;
                if (!lies_beside(s, k, b)) continue;
                if (!rows_beside(s, n, y, &s->l->nests.at[b], x, &rows)) continue;
                int64_t saved = cut_by(s, n, &rows, &c) ? gain(s, n, read, &c, s->few) : 0;
                if (saved <= *most) continue;
                *most = saved;
                *best = c;
            }
}

static void find_leaves(struct by_rows *s) {
    s->leaves = NEW_ARRAY(s->l->arena, struct leaves, s->l->nests.n);
    for (uint32_t k = 0; k < s->l->nests.n; k++) {
        const struct nest *n = &s->l->nests.at[k];
        s->leaves[k].seen = map_new(s->l->arena);
        if (has_rows(s, n)) add_leaves(s, &s->leaves[k], n, NULL, NULL, 0);
    }
}

/* ---- cuts ------------------------------------------------------------------------------------ */

/* The cut of nest k, whose copy is n, that saves most; n's axes may be split for it. */
static struct cut best_cut(const struct by_rows *s, uint32_t k, struct nest *n) {
    struct cut best = {0}, c;
    struct leaves read;
    int64_t most = 0;
    do {
        read = (struct leaves){.seen = map_new(s->l->arena)};
        add_leaves(s, &read, n, NULL, NULL, 0);
        for (uint32_t i = 0; i < read.at.n; i++) {
            int64_t saved = cut_by(s, n, &read.at.at[i], &c) ? gain(s, n, &read, &c, false) : 0;
            if (saved <= most) continue;
            most = saved;
            best = c;
        }
    } while (!most && split_divided(s, n, &read));
    if (!s->beside || most) return best;
    *n = s->l->nests.at[k]; /* as it was */
    best_beside(s, k, &s->leaves[k], &most, &best);
    return best;
}

/* The axes of the rows: those that n keeps, and c->outer, in the order that c->rows has them. */
static int order_rows(const struct by_rows *s, const struct nest *n, const struct cut *c,
                      ex *axes) {
    const struct leaf *x = &c->rows;
    int rank = s->l->buffers.at[x->buffer].meta.rank, count = 0, all = n->n_axes + c->n_outer;
    bool placed[2 * WS_MAX_RANK] = {false};
    for (int d = -1; d < rank; d++) /* first those that it does not know */
        for (int k = 0; k < all; k++) {
            ex axis = k < n->n_axes ? n->axes[k] : c->outer[k - n->n_axes];
            bool here = d < 0 ? !varies(s, x, &axis, 1) : ex_uses(s->l->ex, x->index[d], axis);
            if (placed[k] || !here) continue;
            placed[k] = true;
            axes[count++] = axis;
        }
    return count;
}

static buffer_id add_rows_buffer(struct by_rows *s, enum dtype t, const ex *axes, int n) {
    struct loops *l = s->l;
    struct meta m = {.dtype = t, .rank = n};
    ex stride = ex_const(l->ex, 1);
    for (int k = n - 1; k >= 0; k--) {
        m.size[k] = bound_of(s, axes[k]);
        m.stride[k] = stride;
        stride = ex_mul(l->ex, stride, m.size[k]);
    }
    struct buffer b = {
        .name = arena_printf(l->arena, "b%u", l->buffers.n), .kind = BUFFER_TEMP, .meta = m};
    vec_push(l->arena, &l->buffers, b);
    return l->buffers.n - 1;
}

/* n along c->inner alone, for each of `rows`, under indices of its own. */
static struct nest along_rows(struct by_rows *s, const struct nest *n, const struct cut *c,
                              const ex *rows, int n_rows) {
    struct exprs *p = s->l->ex;
    ex from[2 * WS_MAX_RANK], to[2 * WS_MAX_RANK];
    struct nest in = {.name = arena_printf(s->l->arena, "%s_rows", n->name),
                      .origin = n->origin,
                      .where = n->where,
                      .epoch = n->epoch,
                      .chain = n->chain,
                      .n_axes = n_rows,
                      .n_reduce = c->n_inner};
    for (int k = 0; k < n_rows + c->n_inner; k++) {
        bool row = k < n_rows;
        from[k] = row ? rows[k] : c->inner[k - n_rows];
        to[k] = ex_index(p, arena_printf(s->l->arena, row ? "i%d" : "r%d", row ? k : k - n_rows),
                         bound_of(s, from[k]));
        if (row)
            in.axes[k] = in.out_index[k] = to[k];
        else
            in.reduce[k - n_rows] = to[k];
    }
    for (uint32_t i = 0; i < n->insts.n; i++) {
        struct inst x = n->insts.at[i];
        for (int d = 0; d < x.n_index && x.kind != INST_SUBSCRIPT; d++)
            x.index[d] = ex_subst(p, x.index[d], from, to, n_rows + c->n_inner);
        vec_push(s->l->arena, &in.insts, x);
    }
    struct inst *last = &in.insts.at[in.insts.n - 1];
    last->dtype = dtype_opmath(last->dtype);
    in.out = add_rows_buffer(s, last->dtype, rows, n_rows);
    return in;
}

/* n over what its rows have come to. */
static void reduce_rows(struct by_rows *s, struct nest *n, const struct cut *c, buffer_id from,
                        const ex *rows, int n_rows) {
    struct exprs *p = s->l->ex;
    struct inst last = n->insts.at[n->insts.n - 1];
    struct inst load = {.kind = INST_LOAD,
                        .dtype = dtype_opmath(last.dtype),
                        .buffer = from,
                        .n_index = (uint8_t)n_rows};
    n->n_reduce = c->n_outer;
    for (int r = 0; r < c->n_outer; r++)
        n->reduce[r] = ex_index(p, arena_printf(s->l->arena, "r%d", r), bound_of(s, c->outer[r]));
    for (int k = 0; k < n_rows; k++)
        load.index[k] = ex_subst(p, rows[k], c->outer, n->reduce, c->n_outer);
    last.args[0] = 0;
    memset(&n->insts, 0, sizeof n->insts);
    vec_push(s->l->arena, &n->insts, load);
    vec_push(s->l->arena, &n->insts, last);
}

/* Nest k, which n is with axes split, becomes two, the new one before it. */
static void cut_nest(struct by_rows *s, uint32_t k, const struct nest *n, const struct cut *c) {
    struct loops *l = s->l;
    ex rows[2 * WS_MAX_RANK];
    struct nest outer = *n;
    int n_rows = order_rows(s, &outer, c, rows);
    struct nest inner = along_rows(s, &outer, c, rows, n_rows);
    reduce_rows(s, &outer, c, inner.out, rows, n_rows);
    vec_push(l->arena, &l->nests, outer);
    memmove(&l->nests.at[k + 1], &l->nests.at[k], sizeof outer * (l->nests.n - 1 - k));
    l->nests.at[k] = inner;
    l->nests.at[k + 1] = outer;
}

static bool may_cut(const struct nest *n) {
    const struct inst *last = &n->insts.at[n->insts.n - 1];
    return n->n_reduce && !n->matmul && reduction_of_values(last->reduction) &&
           n->n_axes + n->n_reduce <= WS_MAX_RANK;
}

static bool cut_nests(struct loops *l, const struct device_limits *limits, bool beside, bool few) {
    struct by_rows s = {.l = l, .limits = limits, .beside = beside, .few = few};
    uint32_t were = l->nests.n;
    find_writers(&s);
    if (beside) find_leaves(&s);
    for (uint32_t k = 0; k < l->nests.n; k++)
        while (may_cut(&l->nests.at[k]) && !nest_recurs(l, &l->nests.at[k])) {
            struct nest n = l->nests.at[k];
            struct cut c = best_cut(&s, k, &n);
            if (!c.n_inner) break;
            cut_nest(&s, k, &n, &c);
            find_writers(&s);
            if (beside) find_leaves(&s);
        }
    return l->nests.n > were;
}

/* ---- slabs ----------------------------------------------------------------------------------- */

/* Is what n reads at y what `beside` reads at x, which reduces all that n keeps, and keeps all that
 * n reduces? */
static bool goes_across(const struct by_rows *s, const struct nest *n, const struct leaf *y,
                        const struct nest *beside, const struct leaf *x) {
    struct matched m = {0};
    if (beside->n_axes != n->n_reduce || beside->n_reduce != n->n_axes) return false;
    for (int d = 0; d < s->l->buffers.at[x->buffer].meta.rank; d++)
        if (!match_index(s, &m, x->index[d], y->index[d])) return false;
    if (m.n != n->n_axes + n->n_reduce) return false;
    for (int k = 0; k < m.n; k++)
        for (int r = 0; r < beside->n_reduce; r++)
            for (int i = 0; i < n->n_reduce; i++)
                if (m.from[k] == beside->reduce[r] && m.to[k] == n->reduce[i]) return false;
    return true;
}

/* What n reads that another reduction, which neither needs, goes across. */
static const struct leaf *across_beside(const struct by_rows *s, uint32_t k) {
    const struct nest *n = &s->l->nests.at[k];
    for (uint32_t b = 0; b < s->l->nests.n; b++) {
        const struct nest *B = &s->l->nests.at[b];
        if (b == k || B->epoch != n->epoch || B->chain != n->chain || !B->n_reduce || B->matmul)
            continue;
        for (uint32_t i = 0; i < s->leaves[b].at.n; i++)
            for (uint32_t j = 0; j < s->leaves[k].at.n; j++) {
                const struct leaf *x = &s->leaves[b].at.at[i], *y = &s->leaves[k].at.at[j];
                if (x->buffer == y->buffer && goes_across(s, n, y, B, x) &&
                    !standing_on(s, k < b ? k : b)[k < b ? b : k])
                    return y;
            }
    }
    return NULL;
}

/* The reduce axis of n along which neighbours lie, where x is read; n_reduce: none of them. */
static int innermost(const struct by_rows *s, const struct nest *n, const struct leaf *x) {
    const struct meta *m = &s->l->buffers.at[x->buffer].meta;
    for (int d = 0; d < m->rank; d++)
        for (int r = 0; r < n->n_reduce; r++)
            if (m->stride[d] == ex_const(s->l->ex, 1) && x->index[d] == n->reduce[r]) return r;
    return n->n_reduce;
}

/* Columns of a slab of rows of so many, of which as many as end the row lie side by side: whole
 * vectors, more slabs than multiprocessors; 0: there are none. */
static int64_t slab_columns(const struct device_limits *limits, int64_t inner, int64_t columns) {
    enum { LEAST = 256, MOST = 1024, VECTOR = 8 };
    for (int64_t q = inner < MOST ? inner : MOST; q >= LEAST; q--)
        if (inner % q == 0 && q % VECTOR == 0 && columns / q > limits->units) return q;
    return 0;
}

/* Few long rows, which others go across: no block has whole rows and what their columns come to,
 * nor whole columns of so many rows. It has a slab of them, some columns of all rows, of which the
 * columns are whole and each row has a part.
 *
 *   s[i0] = sum r0: 115960 of x[i0, r0]         257 rows
 *   a[i0] = amax r0: 257 of x[r0, i0]
 * ->
 *   b[i0, i1] = sum r0: 520 of x[i0, 520*i1 + r0]     beside a, in batches of 520 columns
 *   s[i0] = sum r0: 223 of b[i0, r0] */
static bool cut_slabs(struct loops *l, const struct device_limits *limits) {
    enum { LONG = 1 << 14 };
    struct by_rows s = {.l = l, .limits = limits};
    bool any = false;
    find_writers(&s);
    find_leaves(&s);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        struct nest n = l->nests.at[k];
        if (!may_cut(&n) || nest_recurs(l, &n) || n.n_axes + n.n_reduce == WS_MAX_RANK) continue;
        int64_t columns = axes_numel(l, n.reduce, n.n_reduce), q, inner;
        const struct leaf *x = columns < LONG ? NULL : across_beside(&s, k);
        int r = x ? innermost(&s, &n, x) : n.n_reduce;
        if (r == n.n_reduce || !ex_is_const(l->ex, bound_of(&s, n.reduce[r]), &inner)) continue;
        if (!(q = slab_columns(limits, inner, columns))) continue;
        struct cut c = {.rows = *x, .n_inner = 1};
        ex axis = n.reduce[r];
        if (q < inner) {
            split_axis(&s, &n, r++, ex_const(l->ex, q));
            ex both =
                ex_add(l->ex, ex_mul(l->ex, n.reduce[r - 1], ex_const(l->ex, q)), n.reduce[r]);
            for (int d = 0; d < l->buffers.at[x->buffer].meta.rank; d++)
                c.rows.index[d] = ex_subst(l->ex, x->index[d], &axis, &both, 1);
        }
        for (int i = 0; i < n.n_reduce; i++)
            if (i != r) c.outer[c.n_outer++] = n.reduce[i];
        c.inner[0] = n.reduce[r];
        cut_nest(&s, k++, &n, &c);
        find_writers(&s);
        find_leaves(&s);
        any = true;
    }
    return any;
}

/* ---- does it pay? ---------------------------------------------------------------------------- */

/* In an arena of its own, but for expressions. */
static struct loops *copy_loops(const struct loops *l, struct arena *a) {
    struct loops *copy = NEW(a, struct loops);
    *copy = (struct loops){.arena = a,
                           .ex = l->ex,
                           .graph = l->graph,
                           .steps = l->steps,
                           .recurs = l->recurs,
                           .step = l->step};
    for (buffer_id b = 0; b < l->buffers.n; b++) vec_push(a, &copy->buffers, l->buffers.at[b]);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        struct nest n = l->nests.at[k];
        memset(&n.insts, 0, sizeof n.insts);
        for (uint32_t i = 0; i < l->nests.at[k].insts.n; i++)
            vec_push(a, &n.insts, l->nests.at[k].insts.at[i]);
        vec_push(a, &copy->nests, n);
    }
    return copy;
}

/* Marks in `touched` what group g reads and writes, and in `read` what of it others have written.
 */
static void mark_touched(const struct schedule *s, uint32_t g, bool *touched, bool *read) {
    const struct group *G = &s->groups.at[g];
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = &s->loops->nests.at[G->members.at[m].nest];
        touched[n->out] = true;
        for (uint32_t i = 0; i < n->insts.n; i++) {
            if (n->insts.at[i].kind != INST_LOAD) continue;
            buffer_id b = n->insts.at[i].buffer;
            touched[b] = true;
            read[b] |= s->writer[b] == NO_NEST || s->group_of[s->writer[b]] != g;
        }
    }
}

/* What the kernels move, and for each what a device moves in the time that a launch takes. */
static double bytes_moved(const struct schedule *s, const struct device_limits *limits) {
    uint32_t n_buffers = s->loops->buffers.n, n = s->groups.n;
    bool *touched = NEW_ARRAY(s->arena, bool, (size_t)n *n_buffers);
    bool *stored = NEW_ARRAY(s->arena, bool, n_buffers);
    double bytes = (double)n * (limits->kind == DEVICE_CUDA ? LAUNCH_BYTES : LAUNCH_BYTES_CPU);
    for (uint32_t g = 0; g < n; g++) mark_touched(s, g, touched + (size_t)g * n_buffers, stored);
    for (buffer_id b = 0; b < n_buffers; b++)
        for (uint32_t g = 0; g < n; g++)
            if (touched[(size_t)g * n_buffers + b] &&
                (stored[b] || s->loops->buffers.at[b].kind != BUFFER_TEMP))
                bytes += (double)buffer_bytes(s->loops, b);
    return bytes;
}

static double cost_of(const struct loops *l, const struct device_limits *limits) {
    struct arena *a = arena_new();
    struct schedule *s = fuse_nests(copy_loops(l, a), limits, FUSING_ALL, NULL, a);
    schedule_recompute(s, limits);
    double cost = bytes_moved(s, limits);
    arena_free(a);
    return cost;
}

void schedule_by_rows(struct loops *l, const struct device_limits *limits) {
    if (l->nests.n > MAX_COMPARED) return;
    enum { STANDING, BESIDE, BESIDE_FEW, SLABS, KINDS };
    for (int kind = STANDING; kind < (limits->kind == DEVICE_CUDA ? KINDS : SLABS); kind++) {
        const struct loops *whole = copy_loops(l, l->arena);
        bool cut = kind == SLABS ? cut_slabs(l, limits)
                                 : cut_nests(l, limits, kind >= BESIDE, kind == BESIDE_FEW);
        if (cut && cost_of(l, limits) >= cost_of(whole, limits)) *l = *whole;
    }
}

double schedule_moved(const struct schedule *s, const struct device_limits *limits) {
    return s->loops->nests.n > MAX_COMPARED ? INFINITY : bytes_moved(s, limits);
}

double schedule_bytes(struct loops *l, const struct device_limits *limits) {
    if (l->nests.n > MAX_COMPARED) return INFINITY;
    struct schedule *s = schedule_fuse(l, limits, FUSING_ALL, l->arena);
    schedule_recompute(s, limits);
    return bytes_moved(s, limits);
}
