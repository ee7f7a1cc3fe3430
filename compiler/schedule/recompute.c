/* recompute.c: a pointwise value that another kernel reads is computed again there, if that moves
 * fewer bytes than storing it.
 *
 *   kernel 0: g = grad * w; s = sum(g, 1)            reads grad, w; writes g, s
 *   kernel 1: dx = g - s                             reads g, s;    writes dx
 * ->
 *   kernel 0: s = sum(grad * w, 1)                   reads grad, w; writes s
 *   kernel 1: dx = grad * w - s                      reads grad, w, s; writes dx
 *
 * A value's *leaves* are what it is made of that lies in memory: inputs, reductions, products,
 * outputs, values of a row. Storing costs a write and a read in each kernel that wants it;
 * computing it again, a read of each leaf that such a kernel does not read anyway, and a write of
 * each leaf that nobody stored so far. Values are looked at in program order, so a leaf's own fate
 * is known. The reader gets copies of the nests as inlined members; a kernel whose values are then
 * wanted by nobody goes.
 *
 * The work of it may take longer than what it saves, where it hides behind the rest of what its
 * readers move.
 *
 * What a pointwise kernel stores may be worth it together: if all of it is made again, the kernel
 * goes, and so does what it reads.
 *
 *   kernel 0: g = x * y; p = g > 0                   reads x, y;   writes g, p
 *   kernel 1: s = sum(where(p, g, 0), 1)             reads g, p;   writes s
 *   kernel 2: c = sum(where(p, g, 1), 0)             reads g, p;   writes c
 * ->
 *   kernel 1 and 2                                   read x, y
 *
 * A product's kernel makes what it reads behind the product, once for each of its elements; what
 * puts a product into another order is stored in that order, and not made again.
 *
 * A product's factor would be made again for every tile that wants it. Of a product with few rows,
 * or columns, it is wanted by one tile, and what it takes is to read it:
 *
 *   kernel 0: w = bf16(q) * scale                    reads q: i8, scale; writes w
 *   kernel 1: y = x @ w.T, of 16 rows                reads x, w; writes y
 * ->
 *   kernel 0: y = x @ (bf16(q) * scale).T            reads x, q, scale; writes y
 *
 * Not so of a product that another one may go behind in one kernel (chained.c), if what is between
 * is more than that saves: queries of a window, times a number, in front of attention.
 *
 * Windows want an element once for each of their taps. Their kernel writes an image of what it
 * makes, each element once, where that can be read at the places of an image's pixels; else one of
 * all taps, nine times as much (kernel/im2col.c). So a normalised, joined or enlarged image is
 * stored in front of a convolution, and so is what lies as its windows are read:
 *
 *   kernel 0: s, h = norm(x)                         reads x; writes s, h
 *   kernel 1: y = conv(silu(h * s + b), w)           would write 9 images, and read them
 * ->
 *   kernel 0: h = silu(norm(x) * s + b)              reads x; writes h
 *   kernel 1: y = conv(h, w)                         reads h, w; writes y
 *
 * Needs: groups (fuse.c). Breaks: nothing; nests and buffers are added behind the others. */
#include "graph/traits.h"
#include "schedule/schedule.h"

#include <stdlib.h>

enum {
    MAX_CHAIN = 32,       /* nests to compute again for one value */
    MAX_WORK = 64,        /* ... and what they may cost, in additions */
    WORK_OF_CALL = 8,     /* exp and the like, roots and remainders */
    WORK_OF_BYTE = 8,     /* additions in the time that a byte takes, with some distance */
    SHARED = 4,           /* times that an element is made: fuse.c makes such once */
    WORK_OF_LOAD = 8,     /* address and wait, where a byte read is there already, or nearly */
    WORK_OF_LEAF = 2,     /* address, of each leaf but one of an element of a factor */
    SMALL = 16,           /* times smaller than what is made of it */
    LITTLE = 64,          /* times smaller: it is at hand */
    HIDES = 1 << 14,      /* bytes that are moved in less time than they are waited for hide none */
    MAX_CLONES = 1 << 12, /* of a program: it must stay a small one */
    FEW = 128,            /* rows of a product that one tile has */
    LEAST = 1 << 13,      /* bytes of a factor */
};

struct readers {
    VEC(uint32_t) groups;
    int loads; /* of all nests, copies too */
};

struct recompute {
    struct schedule *s;
    struct loops *l;
    const struct device_limits *limits;
    VEC(struct readers) readers; /* per buffer */
    uint32_t clones, room;       /* nests and buffers that the schedule's lists have room for */
    uint32_t *seen, sight;       /* per buffer: of which look it was last met */
    uint32_t goes;               /* the group of which all is made again, if it is; NO_GROUP */
};

enum { NO_GROUP = UINT32_MAX };

/* How to make one value again. */
struct chain {
    uint32_t nests[MAX_CHAIN]; /* the last to compute first */
    int n, work;
    VEC(buffer_id) leaves;
    bool possible;
};

static const struct nest *writer_of(const struct recompute *r, buffer_id b) {
    return r->s->writer[b] == NO_NEST ? NULL : &r->l->nests.at[r->s->writer[b]];
}

static bool group_reads(const struct recompute *r, uint32_t g, buffer_id b) {
    const struct readers *list = &r->readers.at[b];
    for (uint32_t i = 0; i < list->groups.n; i++)
        if (list->groups.at[i] == g) return true;
    return false;
}

static bool read_outside(const struct recompute *r, buffer_id b) {
    const struct readers *list = &r->readers.at[b];
    uint32_t home = r->s->group_of[r->s->writer[b]];
    return list->groups.n > 1 || (list->groups.n == 1 && list->groups.at[0] != home);
}

static void note_reader(struct recompute *r, uint32_t group, const struct nest *n) {
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind != INST_LOAD) continue;
        r->readers.at[x->buffer].loads++;
        if (!group_reads(r, group, x->buffer))
            vec_push(r->s->arena, &r->readers.at[x->buffer].groups, group);
    }
}

static void find_readers(struct recompute *r) {
    for (buffer_id b = 0; b < r->l->buffers.n; b++)
        vec_push(r->s->arena, &r->readers, (struct readers){0});
    for (uint32_t k = 0; k < r->l->nests.n; k++)
        note_reader(r, r->s->group_of[k], &r->l->nests.at[k]);
}

static bool in_memory(const struct recompute *r, buffer_id b) {
    return r->l->buffers.at[b].kind != BUFFER_TEMP || read_outside(r, b);
}

/* ---- what it takes --------------------------------------------------------------------------- */

/* Of maxima, of what is rounded to whole numbers and of magnitudes a call leaves an instruction or
 * two. */
static int op_work(enum op op) {
    bool light = !op_is_expensive(op) && !op_divides(op) && (op_keeps_bits(op) || op_folds(op));
    return op_calls(op) && !light ? WORK_OF_CALL : 1;
}

/* Instructions of a nest in additions; -1 for what depends on its place in its kernel. */
static int nest_work(const struct nest *n) {
    int work = 0;
    if (n->n_reduce || n->matmul) return -1;
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        switch (x->kind) {
        case INST_CONST:
        case INST_INDEX:
        case INST_LOAD:
        case INST_CAST: break;
        case INST_SUBSCRIPT: work += 2; break;
        case INST_OP: work += op_work(x->op); break;
        case INST_SCAN:
        case INST_REDUCE: return -1;
        }
    }
    return work;
}

/* Nobody stores it. */
static bool is_inlined(const struct recompute *r, buffer_id x) {
    uint32_t w = r->s->writer[x];
    const struct group *G = &r->s->groups.at[r->s->group_of[w]];
    for (uint32_t m = 0; m < G->members.n; m++)
        if (G->members.at[m].nest == w) return G->members.at[m].inlined;
    return false;
}

/* A value of a row is better stored than made again for each element. */
static bool is_small(const struct recompute *r, buffer_id x, buffer_id b) {
    return !is_inlined(r, x) && SMALL * buffer_bytes(r->l, x) <= buffer_bytes(r->l, b);
}

static void add_leaf(const struct recompute *r, buffer_id x, struct chain *c) {
    for (uint32_t i = 0; i < c->leaves.n; i++)
        if (c->leaves.at[i] == x) return;
    vec_push(r->s->arena, &c->leaves, x);
}

/* Does it move elements, and nothing else? */
static bool only_moves(const struct nest *n) {
    const struct inst *x = n->insts.at;
    bool alone = n->insts.n == 1 || (n->insts.n == 2 && x[1].kind == INST_CAST && !x[1].rounds &&
                                     x[1].dtype == x[0].dtype);
    return alone && x->kind == INST_LOAD && !x->guarded;
}

/* Does it put what another nest makes into another order, and nothing else? It is there to be
 * stored (graph/channels_last.c). */
static bool only_reorders(const struct recompute *r, const struct nest *n) {
    const struct inst *x = n->insts.at;
    if (!only_moves(n) || r->s->writer[x->buffer] == NO_NEST) return false;
    int last = -1;
    bool ordered = true;
    for (int d = 0; d < x->n_index; d++)
        for (int k = 0; k < n->n_axes; k++) {
            if (x->index[d] != n->axes[k]) continue;
            ordered &= k > last;
            last = k;
        }
    return !ordered;
}

/* Nobody stored it so far, and it is not made again. */
static bool would_be_stored(const struct recompute *r, buffer_id x) {
    const struct nest *from = writer_of(r, x);
    return from && !in_memory(r, x) && (nest_work(from) < 0 || only_reorders(r, from));
}

/* Is what nest n makes stored rather than what it is made of, as no more bytes are, which nobody
 * else wants? A product's masked result then takes a load where it is read, and the mask none; a
 * sum of bf16 is stored as it is rounded, and made wider and divided where it is read. */
static bool stands_for_leaf(const struct recompute *r, const struct nest *n) {
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind != INST_LOAD || r->readers.at[x->buffer].loads > 1 || in_memory(r, x->buffer) ||
            buffer_bytes(r->l, n->out) > buffer_bytes(r->l, x->buffer))
            continue;
        const struct nest *from = writer_of(r, x->buffer);
        if (would_be_stored(r, x->buffer) || (from && stands_for_leaf(r, from)))
            return !is_inlined(r, n->out);
    }
    return false;
}

static void collect(const struct recompute *r, buffer_id b, struct chain *c) {
    uint32_t w = r->s->writer[b];
    for (int k = 0; k < c->n; k++)
        if (c->nests[k] == w) return;
    const struct nest *n = &r->l->nests.at[w];
    c->work += nest_work(n);
    c->possible &= c->n < MAX_CHAIN && c->work <= MAX_WORK;
    if (!c->possible) return;
    c->nests[c->n++] = w;
    for (uint32_t i = 0; i < n->insts.n; i++) {
        buffer_id x = n->insts.at[i].buffer;
        if (n->insts.at[i].kind != INST_LOAD) continue;
        const struct nest *from = writer_of(r, x);
        bool goes = from && r->goes != NO_GROUP && r->s->group_of[r->s->writer[x]] == r->goes;
        if (goes) {
            collect(r, x, c);
            continue;
        }
        if (!from || in_memory(r, x) || nest_work(from) < 0 || is_small(r, x, b) ||
            only_reorders(r, from) || stands_for_leaf(r, from)) {
            add_leaf(r, x, c);
            c->possible &= !from || in_memory(r, x) || !is_inlined(r, x);
        } else
            collect(r, x, c);
    }
}

static int meet(struct recompute *r, buffer_id x) {
    bool seen = r->seen[x] == r->sight;
    r->seen[x] = r->sight;
    return !seen;
}

/* What of a leaf is read for so many elements: of a table that is looked up no more than these. */
static int64_t leaf_bytes(const struct recompute *r, buffer_id x, int64_t elements) {
    int64_t all = buffer_bytes(r->l, x),
            most = elements * dtype_bytes(r->l->buffers.at[x].meta.dtype);
    return all < most ? all : most;
}

/* Arguments that group g would take; *more: bytes of the leaves among them that it does not take
 * now. What lives in its kernel alone is none. */
static int buffers_with(struct recompute *r, uint32_t g, const struct chain *c, int64_t elements,
                        int64_t *more) {
    const struct group *G = &r->s->groups.at[g];
    int n = 0;
    r->sight++;
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *x = &r->l->nests.at[G->members.at[m].nest];
        n += meet(r, x->out) && in_memory(r, x->out);
        for (uint32_t i = 0; i < x->insts.n; i++) {
            buffer_id b = x->insts.at[i].buffer;
            if (x->insts.at[i].kind == INST_LOAD) n += meet(r, b) && in_memory(r, b);
        }
    }
    for (uint32_t i = 0; i < c->leaves.n; i++) {
        if (!meet(r, c->leaves.at[i])) continue;
        n++;
        *more += leaf_bytes(r, c->leaves.at[i], elements);
    }
    return n;
}

/* How often does the product want each element of what it reads so: rows of the other factor. */
static int64_t times_read(const struct recompute *r, const struct nest *n, const struct inst *x) {
    int64_t times = 1;
    for (int k = 0; k < n->n_axes; k++) {
        bool used = false;
        for (int d = 0; d < x->n_index; d++) used |= ex_uses(r->l->ex, x->index[d], n->axes[k]);
        if (!used) times *= axes_numel(r->l, &n->axes[k], 1);
    }
    return times;
}

/* What an element of a factor takes that is made again: they go one by one, and each finds its
 * leaves, and of a choice among n guarded loads asks n - 1 times which is its own. */
static int factor_work(const struct recompute *r, const struct chain *c) {
    int work = c->work + WORK_OF_LEAF * ((int)c->leaves.n - 1);
    for (int k = 0; k < c->n; k++) {
        const struct nest *n = &r->l->nests.at[c->nests[k]];
        int guarded = 0;
        for (uint32_t i = 0; i < n->insts.n; i++)
            guarded += n->insts.at[i].kind == INST_LOAD && n->insts.at[i].guarded;
        if (guarded) work += WORK_OF_LOAD * (guarded - 1);
    }
    return work;
}

/* Does the product read an element of b more than once for one row of the other factor, as windows
 * that overlap do? */
static bool through_windows(const struct recompute *r, const struct nest *n, const struct inst *x) {
    int64_t terms = 1;
    for (int k = 0; k < n->n_axes + n->n_reduce; k++) {
        ex axis = k < n->n_axes ? n->axes[k] : n->reduce[k - n->n_axes];
        bool used = false;
        for (int d = 0; d < x->n_index; d++) used |= ex_uses(r->l->ex, x->index[d], axis);
        if (used) terms *= axes_numel(r->l, &axis, 1);
    }
    return terms * dtype_bytes(x->dtype) > buffer_bytes(r->l, x->buffer);
}

/* Do the channels of a pixel lie side by side, where windows are read from as they lie? */
static bool lies_for_windows(const struct recompute *r, const struct inst *x) {
    const struct meta *m = &r->l->buffers.at[x->buffer].meta;
    for (int d = 0; d < x->n_index; d++)
        if (m->stride[d] == ex_const(r->l->ex, 1) && m->size[d] != ex_const(r->l->ex, 1))
            return ex_kind(r->l->ex, x->index[d]) == EX_SYM;
    return false;
}

/* Is the chain made of loads that move by a number for each step along b, and no others? */
static bool made_at_pixels(const struct recompute *r, const struct chain *c) {
    for (int k = 0; k < c->n; k++) {
        const struct nest *n = &r->l->nests.at[c->nests[k]];
        for (uint32_t i = 0; i < n->insts.n; i++) {
            const struct inst *x = &n->insts.at[i];
            if (x->kind != INST_LOAD) continue;
            if (x->n_args) return false;
            for (int d = 0; d < x->n_index; d++) {
                ex by, rest = x->index[d];
                for (int a = 0; a < n->n_axes; a++)
                    if (ex_uses(r->l->ex, rest, n->axes[a]) &&
                        (!ex_linear(r->l->ex, rest, n->axes[a], &by, &rest) ||
                         !ex_is_const(r->l->ex, by, NULL)))
                        return false;
            }
        }
    }
    return true;
}

/* Is it worth it to make b in the pass that writes an image of windows? There has to be such a
 * pass, and it has to be one of b's own elements. */
static bool made_for_windows(struct recompute *r, buffer_id b, const struct inst *x,
                             const struct chain *c) {
    const char *why = lies_for_windows(r, x)  ? "windows are read from where it lies"
                      : !made_at_pixels(r, c) ? "windows would have it made for each of their taps"
                                              : NULL;
    if (why) buf_printf(&r->s->log, "%s: stored for a product: %s\n", writer_of(r, b)->name, why);
    return !why;
}

/* May a product's kernel make b again? Behind the product each element is made once, if there is
 * room for the chain. A large factor of 16 bits may be made of what is in memory if one tile wants
 * it; one of f32 by the pass that writes an image of it for windows, which is there for matrix
 * units. Whether that is too much work is seen in what it saves. */
static bool product_may_make(struct recompute *r, const struct group *G, buffer_id b,
                             const struct chain *c, bool *factor) {
    const struct meta *m = &r->l->buffers.at[b].meta;
    bool of_16 = dtype_is_float(m->dtype) && dtype_bytes(m->dtype) == 2, behind = false;
    bool large = r->limits->kind == DEVICE_CUDA && buffer_bytes(r->l, b) >= LEAST;
    int size = 0;
    *factor = false;
    for (uint32_t k = 0; k < G->members.n; k++) {
        const struct nest *n = &r->l->nests.at[G->members.at[k].nest];
        if (!n->matmul) size += nest_size(n);
        for (uint32_t i = 0; i < n->insts.n; i++) {
            const struct inst *x = &n->insts.at[i];
            if (x->kind != INST_LOAD || x->buffer != b) continue;
            bool windows = n->matmul && through_windows(r, n, x);
            bool image = windows && m->dtype == DT_F32 &&
                         device_has_matrix_units(r->limits, DT_F32, n->precision);
            bool may = large && (of_16 || image);
            if (n->matmul && (!may || (of_16 && times_read(r, n, x) > FEW))) return false;
            if (windows && !made_for_windows(r, b, x, c)) return false;
            *factor |= n->matmul;
            behind |= !n->matmul;
        }
    }
    for (int k = 0; k < c->n; k++) size += nest_size(&r->l->nests.at[c->nests[k]]);
    return !behind || size <= GROUP_MAX_EPILOGUE;
}

/* Is all that the chain does to move elements, of what is a tensor still? */
static bool chain_moves(const struct recompute *r, const struct chain *c) {
    for (int k = 0; k < c->n; k++)
        if (!only_moves(&r->l->nests.at[c->nests[k]])) return false;
    return true;
}

/* The product of a group that may be chained with another one, if it has one. */
static const struct nest *product_of(const struct recompute *r, const struct group *G) {
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = &r->l->nests.at[G->members.at[m].nest];
        if (n->matmul && n->n_reduce)
            return dtype_may_be_chained(n->insts.at[n->insts.n - 1].dtype, n->precision) ? n : NULL;
    }
    return NULL;
}

/* Is b a factor of product n, and are columns few enough for a chain? */
static bool is_narrow_factor(const struct recompute *r, const struct nest *n, buffer_id b) {
    for (uint32_t i = 0; n && i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind == INST_LOAD && x->buffer == b)
            return times_read(r, n, x) <= CHAIN_WIDEST && !through_windows(r, n, x);
    }
    return false;
}

/* Bytes that are written and read between group G's product and one that stands on it, if both may
 * be one kernel (chained.c), whose factors have to be tensors; 0: there is none. */
static int64_t between_products(const struct recompute *r, const struct group *G) {
    const struct nest *first = product_of(r, G);
    if (r->limits->kind != DEVICE_CUDA || r->limits->sm < 80 || !first) return 0;
    if (axes_numel(r->l, first->reduce, first->n_reduce) > CHAIN_WIDEST) return 0;
    for (uint32_t m = 0; m < G->members.n; m++) {
        buffer_id b = r->l->nests.at[G->members.at[m].nest].out;
        const struct readers *by = &r->readers.at[b];
        if (r->l->buffers.at[b].kind != BUFFER_TEMP || by->groups.n != 1) continue;
        const struct group *H = &r->s->groups.at[by->groups.at[0]];
        if (H != G && is_narrow_factor(r, product_of(r, H), b)) return 2 * buffer_bytes(r->l, b);
    }
    return 0;
}

/* Is b made of positions, or of little, as a mask is of what its rows and its columns have? */
static bool loads_little(const struct recompute *r, buffer_id b, const struct chain *c) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < c->leaves.n; i++) bytes += buffer_bytes(r->l, c->leaves.at[i]);
    return LITTLE * bytes <= buffer_bytes(r->l, b);
}

static int64_t points_of(const struct recompute *r, const struct nest *n) {
    return axes_numel(r->l, n->axes, n->n_axes) * axes_numel(r->l, n->reduce, n->n_reduce);
}

/* Bytes of memory that a group reads of each of its tensors that was not met yet. */
static int64_t bytes_read(struct recompute *r, uint32_t g) {
    const struct group *G = &r->s->groups.at[g];
    int64_t bytes = 0;
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = &r->l->nests.at[G->members.at[m].nest];
        for (uint32_t i = 0; i < n->insts.n; i++) {
            const struct inst *x = &n->insts.at[i];
            if (x->kind == INST_LOAD && in_memory(r, x->buffer) && meet(r, x->buffer))
                bytes += leaf_bytes(r, x->buffer, points_of(r, n));
        }
    }
    return bytes;
}

/* Does it say of each place and source whether the source lands there? */
static bool compares_places(const struct nest *n) {
    const struct inst *index, *load;
    return !n->n_reduce && compares_place(n, &n->insts.at[n->insts.n - 1], &index, &load);
}

/* Points at which a group may make a value. Of sources that land on rows each does on one. */
static int64_t group_points(const struct recompute *r, const struct group *G) {
    int64_t rows = axes_numel(r->l, G->x, G->n_x),
            depth = G->matmul ? 1 : axes_numel(r->l, G->r, G->n_r);
    for (uint32_t m = 0; m < G->members.n && depth > 1; m++) {
        const struct nest *n = &r->l->nests.at[G->members.at[m].nest];
        int64_t places = points_of(r, n) / depth;
        if (compares_places(n) && places > 0) return rows + rows / places * depth;
    }
    return rows * depth;
}

/* Does all that group g computes, with so much more work, take less than what it moves then? */
static bool is_hidden(struct recompute *r, uint32_t g, int64_t work, int64_t less, int64_t more) {
    enum { PART = 2 }; /* of the time that memory takes */
    const struct group *G = &r->s->groups.at[g];
    int64_t bytes = more - less, most = group_points(r, G);
    r->sight++;
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = &r->l->nests.at[G->members.at[m].nest];
        int64_t points = points_of(r, n);
        int own = nest_work(n);
        work += (own < 0 ? nest_size(n) : own) * (points < most || G->matmul ? points : most);
        if (in_memory(r, n->out) && meet(r, n->out)) bytes += buffer_bytes(r->l, n->out);
    }
    bytes += bytes_read(r, g);
    return work <= bytes * WORK_OF_BYTE / PART;
}

/* How many of b's elements a group reads, at most: one in each of its loads at each of its points,
 * of a slice not all. A product reads them all. */
static int64_t elements_read(const struct recompute *r, const struct group *G, buffer_id b,
                             int64_t all) {
    int64_t loads = 0;
    if (G->matmul || G->n_arms) return all;
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = &r->l->nests.at[G->members.at[m].nest];
        for (uint32_t i = 0; i < n->insts.n; i++)
            loads += n->insts.at[i].kind == INST_LOAD && n->insts.at[i].buffer == b;
    }
    int64_t read = loads * axes_numel(r->l, G->x, G->n_x) * axes_numel(r->l, G->r, G->n_r);
    return read < all ? read : all;
}

/* Bytes saved by making b again in each kernel that reads it; 0 if one of them cannot, or if it is
 * not worth the work: a value of a row, read in a kernel of columns, is made for each element. What
 * is made of little, a mask, takes no load where it is made, and one where it is read. */
static int64_t saving(struct recompute *r, buffer_id b, const struct chain *c) {
    uint32_t home = r->s->group_of[r->s->writer[b]];
    const struct readers *by = &r->readers.at[b];
    int64_t size = buffer_bytes(r->l, b), work = 0;
    int64_t elements = size / dtype_bytes(r->l->buffers.at[b].meta.dtype);
    int64_t saved = r->s->fixed[b] ? 0 : size; /* what is made at load is written in no call */
    int64_t chained = 0;                       /* what chains would save that take b as a tensor */
    bool hidden = r->limits->kind == DEVICE_CUDA; /* behind what is moved anyway */
    int at_hand = loads_little(r, b, c) ? WORK_OF_LOAD : 0;
    for (uint32_t i = 0; i < c->leaves.n; i++)
        if (!in_memory(r, c->leaves.at[i])) saved -= buffer_bytes(r->l, c->leaves.at[i]);
    for (uint32_t i = 0; i < by->groups.n; i++) {
        uint32_t g = by->groups.at[i];
        const struct group *G = &r->s->groups.at[g];
        if (g == home) continue;
        bool factor = false;
        if (G->matmul && !product_may_make(r, G, b, c, &factor)) return 0;
        if (factor && !chain_moves(r, c)) chained += between_products(r, G);
        if (G->members.n + (uint32_t)c->n > GROUP_MAX_NESTS) return 0;
        int64_t more = 0, read = elements_read(r, G, b, elements);
        if (buffers_with(r, g, c, read, &more) > GROUP_MAX_BUFFERS) return 0;
        saved += dtype_bytes(r->l->buffers.at[b].meta.dtype) * read - more;
        int64_t times = factor ? elements : group_points(r, G);
        int of = (factor ? factor_work(r, c) : c->work) - at_hand;
        if (of > 0) work += of * times;
        hidden &=
            !G->matmul && times < SHARED * elements && is_hidden(r, g, of * times, size, more);
    }
    hidden &= saved >= HIDES;
    return saved > chained && (work / WORK_OF_BYTE <= saved || hidden) ? saved : 0;
}

/* ---- copies ---------------------------------------------------------------------------------- */

#define REGROW(a, old, n, room)                                                                    \
    memcpy(NEW_ARRAY(a, __typeof__(*(old)), room), old, sizeof *(old) * (n))

/* For one nest and one buffer more. */
static void make_room(struct recompute *r) {
    struct schedule *s = r->s;
    uint32_t nests = r->l->nests.n, buffers = r->l->buffers.n;
    uint32_t need = nests > buffers ? nests : buffers;
    if (need < r->room) return;
    r->room = 2 * need + 1;
    s->group_of = REGROW(s->arena, s->group_of, nests, r->room);
    s->writer = REGROW(s->arena, s->writer, buffers, r->room);
    s->stored = REGROW(s->arena, s->stored, buffers, r->room);
    s->offset = REGROW(s->arena, s->offset, buffers, r->room);
    r->seen = REGROW(s->arena, r->seen, buffers, r->room);
}

static buffer_id clone_nest(struct recompute *r, uint32_t nest, uint32_t group) {
    struct schedule *s = r->s;
    struct nest n = r->l->nests.at[nest];
    struct buffer b = r->l->buffers.at[n.out];
    uint32_t n_nests = r->l->nests.n, n_buffers = r->l->buffers.n;
    const struct inst *insts = n.insts.at;
    n.insts.at = NEW_ARRAY(r->l->arena, struct inst, n.insts.n);
    n.insts.cap = n.insts.n;
    memcpy(n.insts.at, insts, sizeof *insts * n.insts.n);
    n.out = n_buffers;
    n.epoch = r->l->nests.at[s->groups.at[group].members.at[0].nest].epoch;
    b.kind = BUFFER_TEMP;
    b.name = arena_printf(r->l->arena, "b%u", n_buffers);
    make_room(r);
    s->group_of[n_nests] = group;
    s->writer[n_buffers] = n_nests;
    vec_push(r->l->arena, &r->l->buffers, b);
    vec_push(r->l->arena, &r->l->nests, n);
    vec_push(s->arena, &r->readers, (struct readers){0});
    note_reader(r, group, &n);
    struct member m = {.nest = n_nests, .inlined = true};
    vec_push(s->arena, &s->groups.at[group].members, m);
    r->clones++;
    return n.out;
}

static void redirect(struct recompute *r, uint32_t group, buffer_id from, buffer_id to) {
    const struct group *G = &r->s->groups.at[group];
    struct readers *list = &r->readers.at[from];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->groups.n; i++)
        if (list->groups.at[i] != group) list->groups.at[kept++] = list->groups.at[i];
    list->groups.n = kept;
    if (!group_reads(r, group, to)) vec_push(r->s->arena, &r->readers.at[to].groups, group);
    for (uint32_t m = 0; m < G->members.n; m++) {
        struct nest *n = &r->l->nests.at[G->members.at[m].nest];
        for (uint32_t i = 0; i < n->insts.n; i++)
            if (n->insts.at[i].kind == INST_LOAD && n->insts.at[i].buffer == from)
                n->insts.at[i].buffer = to;
    }
}

/* The chain from its end to its leaves. A copy is wanted by those made before it; those made after
 * it may want it, too. */
static void clone_chain(struct recompute *r, const struct chain *c, uint32_t group) {
    buffer_id copy[MAX_CHAIN];
    bool copied[MAX_CHAIN] = {false};
    for (int k = 0; k < c->n; k++) {
        buffer_id old = r->l->nests.at[c->nests[k]].out;
        copied[k] = r->s->group_of[c->nests[k]] != group && group_reads(r, group, old);
        if (!copied[k]) continue;
        copy[k] = clone_nest(r, c->nests[k], group);
        for (int i = 0; i <= k; i++)
            if (copied[i]) redirect(r, group, r->l->nests.at[c->nests[i]].out, copy[i]);
    }
}

static int by_group(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void consider(struct recompute *r, buffer_id b) {
    struct chain c = {.possible = true};
    const char *name = writer_of(r, b)->name;
    uint32_t home = r->s->group_of[r->s->writer[b]];
    collect(r, b, &c);
    int64_t saved = c.possible ? saving(r, b, &c) : 0;
    if (!saved) return;
    buf_printf(&r->s->log, "%s: computed again where it is read, saves %lld bytes\n", name,
               (long long)saved);
    uint32_t n = r->readers.at[b].groups.n; /* of which those that have copies are taken */
    uint32_t *groups = memcpy(NEW_ARRAY(r->s->arena, uint32_t, n), r->readers.at[b].groups.at,
                              sizeof(uint32_t) * n);
    qsort(groups, n, sizeof *groups, by_group);
    for (uint32_t i = 0; i < n; i++)
        if (groups[i] != home) clone_chain(r, &c, groups[i]);
}

/* ---- tidying --------------------------------------------------------------------------------- */

struct order {
    uint32_t *place; /* per old nest: its new number; NO_NEST until it has one */
    VEC(uint32_t) old;
};

/* Behind the nests that it reads: copies come before their first reader, and what nobody reads does
 * not come at all. */
static void place_nest(const struct recompute *r, struct order *o, uint32_t nest) {
    const struct nest *n = &r->l->nests.at[nest];
    if (o->place[nest] != NO_NEST) return;
    for (uint32_t i = 0; i < n->insts.n; i++) {
        uint32_t w =
            n->insts.at[i].kind == INST_LOAD ? r->s->writer[n->insts.at[i].buffer] : NO_NEST;
        if (w != NO_NEST) place_nest(r, o, w);
    }
    o->place[nest] = o->old.n;
    vec_push(r->s->arena, &o->old, nest);
}

/* A nest and all that it is made of. */
static void mark_live(const struct recompute *r, uint32_t nest, bool *live) {
    VEC(uint32_t) left = {0};
    vec_push(r->s->arena, &left, nest);
    while (left.n) {
        uint32_t k = left.at[--left.n];
        const struct nest *n = &r->l->nests.at[k];
        for (uint32_t i = 0; i < n->insts.n && !live[k]; i++) {
            uint32_t w =
                n->insts.at[i].kind == INST_LOAD ? r->s->writer[n->insts.at[i].buffer] : NO_NEST;
            if (w != NO_NEST && !live[w]) vec_push(r->s->arena, &left, w);
        }
        live[k] = true;
    }
}

static int by_nest(const void *a, const void *b) {
    uint32_t x = ((const struct member *)a)->nest, y = ((const struct member *)b)->nest;
    return (x > y) - (x < y);
}

void schedule_renumber(struct schedule *s, const uint32_t *place) {
    uint32_t kept = 0;
    for (uint32_t g = 0; g < s->groups.n; g++) {
        struct group G = s->groups.at[g];
        uint32_t n = 0;
        for (uint32_t m = 0; m < G.members.n; m++) {
            struct member M = G.members.at[m];
            if (place[M.nest] == NO_NEST) continue;
            M.nest = place[M.nest];
            G.members.at[n++] = M;
        }
        G.members.n = n;
        if (!n) continue;
        if (G.n_between) G.second = place[G.second];
        if (G.n_between && G.twin != NO_NEST) G.twin = place[G.twin];
        qsort(G.members.at, n, sizeof *G.members.at, by_nest);
        for (uint32_t m = 0; m < n; m++) s->group_of[G.members.at[m].nest] = kept;
        s->groups.at[kept++] = G;
    }
    s->groups.n = kept;
}

/* Nests in dependency order again, without those that nobody reads. */
static void tidy(struct recompute *r) {
    struct schedule *s = r->s;
    uint32_t n = r->l->nests.n;
    bool *live = NEW_ARRAY(s->arena, bool, n);
    struct order o = {.place = NEW_ARRAY(s->arena, uint32_t, n)};
    struct nest *nests = NEW_ARRAY(r->l->arena, struct nest, n);
    for (uint32_t k = 0; k < n; k++) {
        o.place[k] = NO_NEST;
        if (r->l->buffers.at[r->l->nests.at[k].out].kind != BUFFER_TEMP) mark_live(r, k, live);
    }
    for (uint32_t k = 0; k < n; k++)
        if (live[k]) place_nest(r, &o, k);
    schedule_renumber(s, o.place);
    for (buffer_id b = 0; b < r->l->buffers.n; b++) s->writer[b] = NO_NEST;
    for (uint32_t k = 0; k < o.old.n; k++) {
        nests[k] = r->l->nests.at[o.old.at[k]];
        s->writer[nests[k].out] = k;
    }
    r->l->nests.at = nests;
    r->l->nests.n = o.old.n;
    r->l->nests.cap = n;
}

/* What is made once before a loop is not made again in each of its steps. */
static bool in_same_steps(const struct recompute *r, uint32_t nest, uint32_t group) {
    const struct nest *n = r->l->nests.at;
    return n[nest].epoch == n[r->s->groups.at[group].members.at[0].nest].epoch;
}

/* Does a kernel make it that puts into another order what it is made of, for those who read it? */
static bool is_turned(const struct recompute *r, uint32_t nest) {
    const struct group *G = &r->s->groups.at[r->s->group_of[nest]];
    bool turned = false;
    for (uint32_t m = 0; m < G->members.n; m++) {
        buffer_id b = r->l->nests.at[G->members.at[m].nest].out;
        turned |= b < r->s->n_buffers && r->s->turned[b];
    }
    return turned;
}

/* May all that group g stores be made again, as far as one sees there? */
static bool may_go(const struct recompute *r, uint32_t g) {
    const struct group *G = &r->s->groups.at[g];
    bool any = false;
    if (G->matmul || G->n_between || G->scan || G->columns || G->at_load || !G->members.n)
        return false;
    for (uint32_t m = 0; m < G->members.n; m++) {
        uint32_t k = G->members.at[m].nest;
        const struct nest *n = &r->l->nests.at[k];
        if (nest_work(n) < 0 || r->l->buffers.at[n->out].kind != BUFFER_TEMP) return false;
        if (!read_outside(r, n->out)) continue;
        bool once = n->out < r->s->n_buffers && r->s->once[n->out];
        if (once || r->s->fixed[n->out] || is_turned(r, k) || only_reorders(r, n)) return false;
        for (uint32_t i = 0; i < r->readers.at[n->out].groups.n; i++)
            if (!in_same_steps(r, k, r->readers.at[n->out].groups.at[i])) return false;
        any = true;
    }
    return any;
}

/* How reader h would make what it reads of group g; *read: bytes of that. */
static struct chain chain_for(struct recompute *r, uint32_t g, uint32_t h, int64_t *read,
                              int64_t *elements) {
    const struct group *G = &r->s->groups.at[g];
    struct chain c = {.possible = true};
    for (uint32_t m = 0; m < G->members.n; m++) {
        buffer_id b = r->l->nests.at[G->members.at[m].nest].out;
        if (!group_reads(r, h, b)) continue;
        int64_t n = buffer_bytes(r->l, b) / dtype_bytes(r->l->buffers.at[b].meta.dtype);
        *read += buffer_bytes(r->l, b);
        if (n > *elements) *elements = n;
        collect(r, b, &c);
    }
    return c;
}

/* All that pointwise group g stores, if that moves less without its kernel: nobody wants it then.
 */
static void consider_kernel(struct recompute *r, uint32_t g) {
    const struct group *G = &r->s->groups.at[g];
    VEC(uint32_t) by = {0};
    VEC(struct chain) chains = {0};
    r->sight++;
    int64_t saved = bytes_read(r, g), work = 0;
    for (uint32_t m = 0; m < G->members.n; m++) {
        buffer_id b = r->l->nests.at[G->members.at[m].nest].out;
        if (read_outside(r, b)) saved += buffer_bytes(r->l, b);
        for (uint32_t i = 0; i < r->readers.at[b].groups.n; i++) {
            uint32_t h = r->readers.at[b].groups.at[i];
            bool known = h == g;
            for (uint32_t k = 0; k < by.n; k++) known |= by.at[k] == h;
            if (!known) vec_push(r->s->arena, &by, h);
        }
    }
    r->goes = g;
    for (uint32_t i = 0; i < by.n; i++) {
        const struct group *H = &r->s->groups.at[by.at[i]];
        int64_t read = 0, more = 0, elements = 1;
        struct chain c = chain_for(r, g, by.at[i], &read, &elements);
        bool fits = c.possible && !H->matmul && H->members.n + (uint32_t)c.n <= GROUP_MAX_NESTS &&
                    buffers_with(r, by.at[i], &c, elements, &more) <= GROUP_MAX_BUFFERS;
        saved = fits ? saved + read - more : INT64_MIN;
        if (!fits) break;
        work += c.work * group_points(r, H);
        vec_push(r->s->arena, &chains, c);
    }
    r->goes = NO_GROUP;
    if (saved <= 0 || work / WORK_OF_BYTE > saved) return;
    buf_printf(&r->s->log,
               "%s: its kernel's values are computed again where they are read, saves "
               "%lld bytes\n",
               r->l->nests.at[G->members.at[0].nest].name, (long long)saved);
    for (uint32_t i = 0; i < by.n; i++) clone_chain(r, &chains.at[i], by.at[i]);
}

static void compute_again(struct schedule *s, const struct device_limits *limits, bool places) {
    struct recompute r = {.s = s, .l = s->loops, .limits = limits, .goes = NO_GROUP};
    bool *looked = NEW_ARRAY(s->arena, bool, s->groups.n);
    uint32_t n = s->loops->nests.n;
    find_readers(&r);
    r.seen = NEW_ARRAY(s->arena, uint32_t, s->loops->buffers.n);
    for (uint32_t k = 0; k < n && r.clones < MAX_CLONES; k++) {
        buffer_id b = s->loops->nests.at[k].out;
        uint32_t g = s->group_of[k];
        if (!places && !looked[g] && may_go(&r, g)) consider_kernel(&r, g);
        looked[g] = true;
        bool stored = s->loops->buffers.at[b].kind == BUFFER_TEMP && read_outside(&r, b) &&
                      !s->once[b] && !is_turned(&r, k);
        if (places && !compares_places(&s->loops->nests.at[k])) continue;
        for (uint32_t i = 0; stored && i < r.readers.at[b].groups.n; i++)
            stored = in_same_steps(&r, k, r.readers.at[b].groups.at[i]);
        if (stored && nest_work(&s->loops->nests.at[k]) >= 0) consider(&r, b);
    }
    if (r.clones) tidy(&r);
}

void schedule_recompute(struct schedule *s, const struct device_limits *limits) {
    compute_again(s, limits, false);
}

void schedule_compare_again(struct schedule *s, const struct device_limits *limits) {
    compute_again(s, limits, true);
}
