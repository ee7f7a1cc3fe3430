/* fuse.c: groups nests into kernels, greedily by bytes saved, as TorchInductor scores fusions; what
 * follows a reduction row by row joins it first.
 *
 *   amax | sub exp | sum | div        four nests over x: [4096, 4096]
 *   -> {amax, sub, exp, sum, div}     one group, X = [4096], R = [4096]
 *
 * Two groups may become one when
 *   - they touch a common buffer (one writes what the other reads, or both read it);
 *   - no third group stands between them;
 *   - their iteration spaces unify: the indices with which both touch common buffers tell which
 *     axis is which; axes are split where a reshape stands between (split.c);
 *   - inside, every reduction is read at the group's own rows (S3), everything else can be
 *     recomputed;
 *   - the result could still fill the device (too few rows: kept apart, so that the reduction can
 *     be split), and finds its rows again where it goes along them twice;
 *   - a row is scanned along once, and what it comes to is wanted along it only where a block has
 *     all of it at a time;
 *   - what a product's rows come to can be had from its tiles (epilogue.c);
 *   - what lands on rows does so by one index (landing.c);
 *   - neither reads what the other computes, if that is to be one number everywhere (once.c);
 *   - not one is run at load, and the other in each call (at_load.c);
 *   - both are of a step of the same loop, or between the same loops;
 *   - a kernel can hold its operators, and a launch its arguments.
 *
 * Every refusal is logged with its reason. */
#include "schedule/fuse.h"
#include "graph/traits.h"

int64_t axes_numel(const struct loops *l, const ex *axes, int n) {
    int64_t p = 1;
    for (int k = 0; k < n; k++) p *= ex_hint(l->ex, ex_symbol(l->ex, axes[k])->bound);
    return p;
}

bool member_is_along(const struct schedule *s, const struct member *m, const ex *axes, int n) {
    const struct nest *N = &s->loops->nests.at[m->nest];
    for (int i = 0; i < m->n && N->n_reduce; i++)
        for (int r = 0; r < N->n_reduce; r++)
            for (int k = 0; k < n && N->reduce[r] == m->from[i]; k++)
                if (ex_uses(s->loops->ex, m->to[i], axes[k])) return true;
    return false;
}

int64_t buffer_bytes(const struct loops *l, buffer_id b) {
    const struct meta *m = &l->buffers.at[b].meta;
    int64_t n = dtype_bytes(m->dtype);
    for (int k = 0; k < m->rank; k++) /* along stride 0 one element is repeated */
        if (m->stride[k] != ex_const(l->ex, 0) || ex_hint(l->ex, m->size[k]) == 0)
            n *= ex_hint(l->ex, m->size[k]);
    return n;
}

int64_t buffer_storage(const struct loops *l, buffer_id b) {
    const struct meta *m = &l->buffers.at[b].meta;
    int64_t last = 0; /* the element that is furthest away */
    for (int k = 0; k < m->rank; k++) {
        int64_t size = ex_hint(l->ex, m->size[k]);
        if (size == 0) return 0;
        last += (size - 1) * ex_hint(l->ex, m->stride[k]);
    }
    return (last + 1) * dtype_bytes(m->dtype);
}

/* ---- legality -------------------------------------------------------------------------------- */

/* All members pointwise, and no buffer of theirs seen outside the pair. */
static bool can_inline(struct fuser *f, uint32_t g, uint32_t other) {
    const struct group *G = group_at(f, g);
    if (G->n_r) return false;
    for (uint32_t k = 0; k < G->members.n; k++)
        if (escapes(f, nest_at(f, G->members.at[k].nest)->out, g, other)) return false;
    return true;
}

/* Every guest axis is bound, and the guest covers X wholly and R wholly or not at all (S4). */
static const char *covers(struct fuser *f, const struct merge *m) {
    const struct group *G = group_at(f, m->guest), *H = group_at(f, m->host);
    if (m->n < G->n_x + G->n_r) return "iteration spaces differ";
    int rows = H->matmul ? H->n_x : H->n_x - H->n_arms; /* a reduction's arms are covered or not */
    if (m->makes) rows = 0;
    for (int k = 0; k < rows; k++)
        if (!axis_is_taken(f, m, H->x[k]))
            return "iteration spaces differ: not every row is covered";
    int r = 0;
    for (int k = 0; k < H->n_r; k++) r += axis_is_taken(f, m, H->r[k]);
    if (r != 0 && r != H->n_r)
        return "iteration spaces differ: some reduced axes are covered, some not";
    return NULL;
}

static const struct group *as_split(struct fuser *f, const struct merge *m, uint32_t g) {
    const struct group *split = m->split[g == m->b];
    return split ? split : group_at(f, g);
}

/* Are rows of group g neighbours in memory? Its axes may be split, where what it reads has them as
 * they were. */
static bool rows_lie_inside(struct fuser *f, uint32_t g) {
    const struct group *G = group_at(f, g);
    return bytes_along(f, g, G->x, G->n_x) > bytes_along(f, g, G->r, G->n_r);
}

/* Does this member of a group go along the rows of the host? */
static bool goes_along(struct fuser *f, const struct merge *m, uint32_t g, const struct member *M) {
    const struct group *H = as_split(f, m, m->host);
    if (M->inlined || (m->inline_guest && g == m->guest)) return false; /* its readers may */
    for (int i = 0; i < M->n; i++) {
        ex to = ex_subst(f->l->ex, M->to[i], m->from, m->to, m->n);
        for (int k = 0; k < H->n_r; k++)
            if (ex_uses(f->l->ex, to, H->r[k])) return true;
    }
    return false;
}

/* Would a kernel of both go along its rows, and then again with what they have been reduced to? */
static bool goes_twice(struct fuser *f, const struct merge *m) {
    struct map reduced = map_new(f->scratch); /* nests; or they stand on what is */
    uint64_t yes;
    const struct group *A = as_split(f, m, m->a), *B = as_split(f, m, m->b);
    for (uint32_t i = 0, j = 0; i < A->members.n || j < B->members.n;) { /* in nest order */
        bool from_a = j == B->members.n ||
                      (i < A->members.n && A->members.at[i].nest < B->members.at[j].nest);
        const struct member *M = from_a ? &A->members.at[i++] : &B->members.at[j++];
        const struct nest *n = nest_at(f, M->nest);
        for (uint32_t k = 0; k < n->insts.n; k++) {
            if (n->insts.at[k].kind != INST_LOAD) continue;
            uint32_t writer = f->s->writer[n->insts.at[k].buffer];
            if (writer != NO_NEST && map_get(&reduced, &writer, sizeof writer, &yes))
                map_put(&reduced, &M->nest, sizeof M->nest, 1);
        }
        bool stands = map_get(&reduced, &M->nest, sizeof M->nest, &yes);
        if (stands && goes_along(f, m, from_a ? m->a : m->b, M)) return true;
        if (n->n_reduce) map_put(&reduced, &M->nest, sizeof M->nest, 1);
    }
    return false;
}

/* Is a row that is too long to be kept no longer in the L2 when it is read again, as others are
 * under way? Then a kernel of its own for what is reduced reads no more, and need not go along rows
 * as what reads them does: a product's tiles may have it. */
static bool is_forgotten(struct fuser *f, int64_t rows, int64_t bytes, bool inner) {
    const struct device_limits *d = f->limits;
    if (d->kind != DEVICE_CUDA || bytes <= device_kept_bytes(d, inner)) return false;
    return bytes * (rows < d->units ? rows : d->units) > d->l2_bytes;
}

/* Is there anything that all rows read, or that a product makes, which may reduce it itself? Blocks
 * that have a row each read what rows share for each of them: a norm of 16 rows and their 4.2e6
 * weights takes an H200 404 us so, 210 by two launches. */
static bool shares_or_multiplies(struct fuser *f, const struct merge *m, uint32_t g) {
    const struct group *G = group_at(f, g), *H = group_at(f, m->host);
    enum { LARGE = 1 << 16 };
    ex index[WS_MAX_RANK];
    for (uint32_t i = 0; i < f->touched[g].list.n; i++) {
        buffer_id b = f->touched[g].list.at[i].buffer;
        uint32_t w = f->s->writer[b];
        if (w != NO_NEST && nest_at(f, w)->matmul) return true;
        bool along = !touch(f, g, b, 0, index); /* by what is inlined: it may */
        for (uint32_t k = 0; touch(f, g, b, k, index); k++)
            for (int d = 0; d < f->l->buffers.at[b].meta.rank; d++)
                for (int x = 0; x < G->n_x; x++) along |= ex_uses(f->l->ex, index[d], G->x[x]);
        if (!along && H->n_x && buffer_bytes(f->l, b) > LARGE) return true;
    }
    return false;
}

/* Few rows, or long ones, may be kept by many blocks that meet (kernel/layout.c). */
static bool blocks_may_meet(struct fuser *f, const struct merge *m, int64_t rows, int64_t bytes,
                            bool inner) {
    const struct group *A = group_at(f, m->a), *B = group_at(f, m->b);
    if (f->eager || A->scan || B->scan || A->columns || B->columns || A->n_arms || B->n_arms)
        return false;
    return device_rows_meet(f->limits, rows, bytes, inner) && !shares_or_multiplies(f, m, m->a) &&
           !shares_or_multiplies(f, m, m->b);
}

/* With few, long rows a reduction is split over blocks, or most of the device idles. It can be
 * split while its kernel goes along the rows once: what feeds it or stands beside it may join, and
 * what only takes the finished rows; what reads its result per element may not. */
static const char *too_few_rows(struct fuser *f, const struct merge *m) {
    const struct group *H = as_split(f, m, m->host);
    if (!H->n_r || H->matmul) return NULL;
    int64_t rows = axes_numel(f->l, H->x, H->n_x - H->n_arms),
            cols = axes_numel(f->l, H->r, H->n_r);
    bool inner = rows_lie_inside(f, m->host);
    bool apart = device_rows_apart(f->limits, rows, cols, inner);
    bool forgotten = cols >= DEVICE_LONG_ROW && is_forgotten(f, rows, cols * 4, inner);
    if (!apart && !forgotten) return NULL;
    if (!goes_twice(f, m) || blocks_may_meet(f, m, rows, cols * 4, inner)) return NULL;
    if (apart && device_rows_fill(f->limits, rows, cols * 4, inner))
        return arena_printf(f->arena,
                            "a cluster hardly holds rows of %lld bytes, and waits for all of them",
                            (long long)cols * 4);
    if (!apart)
        return arena_printf(f->arena, "a row of %lld bytes would be read from memory twice",
                            (long long)cols * 4);
    return arena_printf(f->arena,
                        "%lld rows cannot fill %d units; apart, the reduction can be split",
                        (long long)rows, f->limits->units);
}

/* What has kernels of its own, of what the product of a group comes to. */
static uint8_t marks_of(struct fuser *f, uint32_t g) {
    const struct group *G = group_at(f, g);
    for (uint32_t m = 0; m < G->members.n && f->apart; m++)
        if (nest_at(f, G->members.at[m].nest)->matmul)
            return f->apart[nest_at(f, G->members.at[m].nest)->out];
    return 0;
}

static bool is_dear(struct fuser *f, const struct group *G) {
    for (uint32_t m = 0; m < G->members.n; m++)
        if (nest_is_dear(nest_at(f, G->members.at[m].nest))) return true;
    return false;
}

/* Does instruction i of a nest vary with any of its axes? */
static bool varies(struct fuser *f, const struct nest *n, inst_id i) {
    const struct inst *x = &n->insts.at[i];
    bool any = false;
    for (int d = 0; d < x->n_index; d++)
        for (int k = 0; k < n->n_axes; k++) any |= ex_uses(f->l->ex, x->index[d], n->axes[k]);
    for (int a = 0; a < x->n_args; a++) any |= varies(f, n, x->args[a]);
    return any;
}

/* The product of a matrix and of one vector: rows, of which each is a sum. */
static bool is_of_vector(struct fuser *f, const struct group *G) {
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = nest_at(f, G->members.at[m].nest);
        if (!n->matmul || !n->n_reduce) continue;
        const struct inst *sum = &n->insts.at[n->insts.n - 1], *mul = &n->insts.at[sum->args[0]];
        return mul->n_args == 2 && varies(f, n, mul->args[0]) != varies(f, n, mul->args[1]);
    }
    return false;
}

/* A vector that is reduced on its way, as one that is normalized, is made by the kernel that
 * multiplies it, again for each row: a short one takes less than a launch does. */
static bool makes_vector(struct fuser *f, uint32_t product, uint32_t g) {
    enum { SHORT = 4096 };
    const struct group *G = group_at(f, g);
    if (f->limits->kind != DEVICE_CUDA || f->eager || G->n_x || !G->n_r || G->scan || G->columns ||
        G->matmul || G->n_between || axes_numel(f->l, G->r, G->n_r) > SHORT ||
        !is_of_vector(f, group_at(f, product)))
        return false;
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = nest_at(f, G->members.at[m].nest);
        bool values = reduction_of_values(n->insts.at[n->insts.n - 1].reduction);
        if (escapes(f, n->out, product, g) || (n->n_reduce && !values)) return false;
    }
    return true;
}

static const char *matmul_reason(struct fuser *f, struct merge *m) {
    const struct group *H = group_at(f, m->host), *G = group_at(f, m->guest);
    if (!H->matmul && !G->matmul) return NULL;
    uint32_t mm = H->matmul ? m->host : m->guest, other = H->matmul ? m->guest : m->host;
    if (H->matmul && G->matmul) return "two matrix products";
    if (depends(f, mm, other) && (m->makes = makes_vector(f, mm, other))) return NULL;
    if (depends(f, mm, other))
        return "a producer would be recomputed for every tile of the matrix product";
    if (!depends(f, other, mm)) return "it shares no result with the matrix product";
    bool light = !(marks_of(f, mm) & APART_DEAR) || !is_dear(f, group_at(f, other));
    return light ? NULL : "dear operators behind the matrix product have another kernel";
}

static uint8_t all_marks(struct fuser *f, uint32_t g) {
    const struct group *G = group_at(f, g);
    uint8_t all = 0;
    for (uint32_t m = 0; m < G->members.n && f->apart; m++)
        all |= f->apart[nest_at(f, G->members.at[m].nest)->out];
    return all;
}

/* Does a copy in another order meet the reduction that it is apart from? */
static const char *across_reason(struct fuser *f, const struct merge *m) {
    uint8_t a = all_marks(f, m->a), b = all_marks(f, m->b), both = 0;
    if (a & APART_ALONG) both |= b;
    if (b & APART_ALONG) both |= a;
    return both & APART_ACROSS   ? "it is stored across the rows of the reduction"
           : both & APART_TURNED ? "it is read across the rows of the reduction"
                                 : NULL;
}

static int count_loads(struct fuser *f, uint32_t g) {
    const struct group *G = group_at(f, g);
    int n = 0;
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *x = nest_at(f, G->members.at[m].nest);
        for (uint32_t i = 0; i < x->insts.n; i++) n += x->insts.at[i].kind == INST_LOAD;
    }
    return n;
}

/* Are all of a group's reductions of single values? */
static bool reduces_values(struct fuser *f, const struct group *G) {
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = nest_at(f, G->members.at[m].nest);
        bool values = reduction_of_values(n->insts.at[n->insts.n - 1].reduction);
        if (n->n_reduce && !values) return false;
    }
    return true;
}

/* A kernel that scans goes along a row once, and knows no later element. What it loads for a tile
 * is in registers all at once. */
static const char *scan_reason(struct fuser *f, const struct merge *m) {
    const struct group *H = group_at(f, m->host), *G = group_at(f, m->guest);
    if (!H->scan && !G->scan) return NULL;
    enum { MAX_SCAN_LOADS = 32 };
    const struct group *R = H->scan ? G : H;
    bool may = f->limits->kind == DEVICE_CUDA && !f->eager && !R->columns && !R->matmul;
    if (R->n_r && !R->scan && !(may && reduces_values(f, R)))
        return "a row is scanned or reduced, not both";
    if (count_loads(f, m->host) + count_loads(f, m->guest) > MAX_SCAN_LOADS)
        return "too many loads for a scan's registers";
    bool chain = depends(f, m->a, m->b) || depends(f, m->b, m->a);
    return H->scan && G->scan && chain ? "a scan of a scan goes along the row twice" : NULL;
}

static bool reduces_any(struct fuser *f, const struct group *G) {
    for (uint32_t m = 0; m < G->members.n; m++)
        if (nest_at(f, G->members.at[m].nest)->n_reduce) return true;
    return false;
}

/* Words that a thread loads for an element, of what neither of both groups writes, or scans; what
 * is inlined may be loaded more than once. */
static int64_t words_of_element(struct fuser *f, uint32_t a, uint32_t b) {
    int64_t words = 0;
    for (int side = 0; side < 2; side++) {
        const struct group *G = group_at(f, side ? b : a);
        for (uint32_t m = 0; m < G->members.n; m++) {
            const struct nest *n = nest_at(f, G->members.at[m].nest);
            int64_t wide = dtype_bytes(f->l->buffers.at[n->out].meta.dtype) > 4 ? 2 : 1;
            words += n->scan ? wide : 0;
            for (uint32_t i = 0; i < n->insts.n; i++) {
                const struct inst *x = &n->insts.at[i];
                bool own = x->kind != INST_LOAD || group_writes(f, a, x->buffer) ||
                           group_writes(f, b, x->buffer);
                words += own ? 0 : dtype_bytes(x->dtype) > 4 ? 4 : 2;
            }
        }
    }
    return words;
}

/* Has a block all of a row in its registers, whatever its size? */
static bool block_holds_row(struct fuser *f, const struct merge *m, bool inner) {
    enum { MOST = 32, WORDS = 192, SECTOR = 16, THREADS = 512 }; /* as space.c proposes them */
    const struct group *H = as_split(f, m, m->host);
    int64_t cols = axes_numel(f->l, H->r, H->n_r), along = f->limits->max_threads_block;
    if (inner) along = (along < THREADS ? along : THREADS) / SECTOR;
    for (int k = 0; k < H->n_r; k++)
        if (!ex_is_const(f->l->ex, axis_bound(f, H->r[k]), NULL)) return false;
    if (!along) return false;
    int64_t each = (cols + along - 1) / along, threads = inner ? along * SECTOR : along;
    int64_t words = each * words_of_element(f, m->a, m->b);
    return each <= MOST && words <= WORDS && words * threads <= f->limits->regs_unit;
}

/* Blocks that share a row reduce none that they scan. So either a block has all of a row at a time,
 * which must be so if what it comes to is wanted along it, or rows fill the device. */
static const char *scanned_rows_reason(struct fuser *f, const struct merge *m) {
    enum { SECTOR = 16 };
    const struct group *H = as_split(f, m, m->host), *A = group_at(f, m->a), *B = group_at(f, m->b);
    if (!(A->scan || B->scan) || !(reduces_any(f, A) || reduces_any(f, B))) return NULL;
    int64_t rows = axes_numel(f->l, H->x, H->n_x), cols = axes_numel(f->l, H->r, H->n_r);
    bool inner = rows_lie_inside(f, m->host);
    if (block_holds_row(f, m, inner)) return NULL;
    if (goes_twice(f, m))
        return arena_printf(f->arena, "no block holds a row of %lld, to reduce and to scan it",
                            (long long)cols);
    if (inner) rows /= SECTOR;
    if (rows >= 2 * f->limits->units) return NULL;
    return arena_printf(f->arena, "%lld rows cannot fill %d units; apart, blocks share a scan",
                        (long long)rows, f->limits->units);
}

/* Is buffer b touched at the same place by both, as far as one can see? */
bool meet_in(struct fuser *f, const struct merge *m, buffer_id b) {
    ex hi[WS_MAX_RANK], gi[WS_MAX_RANK];
    int rank = f->l->buffers.at[b].meta.rank;
    for (uint32_t i = 0; touch(f, m->host, b, i, hi); i++)
        for (uint32_t j = 0; touch(f, m->guest, b, j, gi); j++) {
            int k = 0;
            while (k < rank && ex_subst(f->l->ex, gi[k], m->from, m->to, m->n) == hi[k]) k++;
            if (k == rank) return true;
        }
    return !touch(f, m->host, b, 0, hi) || !touch(f, m->guest, b, 0, gi); /* by what is inlined */
}

bool they_meet(struct fuser *f, const struct merge *m) {
    for (uint32_t x = 0; x < f->touched[m->host].list.n; x++) {
        buffer_id b = f->touched[m->host].list.at[x].buffer;
        bool guest = group_touches(f, m->guest, b);
        if (guest && meet_in(f, m, b)) return true;
    }
    return false;
}

/* Is buffer b read by both along the same dimensions, neighbours or not? True if who reads it is
 * inlined. */
static bool go_alike_in(struct fuser *f, const struct merge *m, buffer_id b) {
    ex hi[WS_MAX_RANK], gi[WS_MAX_RANK];
    int rank = f->l->buffers.at[b].meta.rank;
    for (uint32_t i = 0; touch(f, m->host, b, i, hi); i++)
        for (uint32_t j = 0; touch(f, m->guest, b, j, gi); j++) {
            int k = 0;
            while (k < rank &&
                   ex_is_const(
                       f->l->ex,
                       ex_sub(f->l->ex, ex_subst(f->l->ex, gi[k], m->from, m->to, m->n), hi[k]),
                       NULL))
                k++;
            if (k == rank) return true;
        }
    return !touch(f, m->host, b, 0, hi) || !touch(f, m->guest, b, 0, gi);
}

/* Do both touch tensors of some size, and none along the same dimensions? Smaller ones are read in
 * less than a launch takes. */
static bool go_across(struct fuser *f, const struct merge *m) {
    enum { SMALL = 1 << 20 }; /* bytes */
    bool any = false;
    for (uint32_t x = 0; x < f->touched[m->host].list.n; x++) {
        buffer_id b = f->touched[m->host].list.at[x].buffer;
        if (buffer_bytes(f->l, b) <= SMALL || !group_touches(f, m->guest, b)) continue;
        if (go_alike_in(f, m, b)) return false;
        any = true;
    }
    return any;
}

/* The spaces of x.sum(0) and x.sum(1) unify if x is square, and those of sums of x[1:] and of
 * x[:, 1:], yet neither reads what the other does when it does: one would go across memory. That
 * both become one number is nothing that they share. */
static const char *nothing_shared(struct fuser *f, const struct merge *m) {
    if (!group_at(f, m->guest)->n_r || (they_meet(f, m) && !go_across(f, m))) return NULL;
    return "they reduce what they share along other axes";
}

static bool same_origin(struct fuser *f, uint32_t a, uint32_t b) {
    return nest_at(f, group_at(f, a)->members.at[0].nest)->origin ==
           nest_at(f, group_at(f, b)->members.at[0].nest)->origin;
}

/* Does one read what the other one writes, and would that take a good part of the device's memory?
 * As it does of operators that are several of ours, like the largest of what lands at each place,
 * which compares all places with all sources: eager, too, they are one kernel then. */
static bool has_no_room(struct fuser *f, uint32_t a, uint32_t b) {
    int64_t room = device_image_bytes(f->limits);
    for (int side = 0; f->limits->memory_bytes && side < 2; side++) {
        const struct group *from = group_at(f, side ? b : a);
        for (uint32_t i = 0; i < from->members.n; i++) {
            buffer_id out = nest_at(f, from->members.at[i].nest)->out;
            if (buffer_bytes(f->l, out) > room && group_touches(f, side ? a : b, out)) return true;
        }
    }
    return false;
}

/* Buffers that a kernel of both would take as arguments, the partial results of its reductions,
 * were they split, included. */
static int arguments(struct fuser *f, uint32_t a, uint32_t b) {
    int n = 0;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < f->touched[side ? b : a].list.n; i++) {
            buffer_id x = f->touched[side ? b : a].list.at[i].buffer;
            if (side && group_touches(f, a, x)) continue; /* counted */
            bool written = group_writes(f, a, x) || group_writes(f, b, x);
            n += !written || escapes(f, x, a, b);
            n += written && nest_at(f, f->s->writer[x])->n_reduce > 0;
        }
    return n;
}

bool load_goes_across(const struct loops *l, const struct nest *n, const struct inst *load) {
    int rank = l->buffers.at[n->out].meta.rank, last = load->n_index - 1;
    ex inner = rank ? n->out_index[rank - 1] : EX_NONE;
    if (!rank || last < 0 || ex_kind(l->ex, inner) != EX_SYM) return false;
    if (ex_uses(l->ex, load->index[last], inner)) return false;
    for (int d = 0; d < last; d++)
        if (ex_uses(l->ex, load->index[d], inner)) return true;
    return false;
}

bool nest_is_dear(const struct nest *n) {
    for (uint32_t i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_OP && op_is_expensive(n->insts.at[i].op)) return true;
    return false;
}

int nest_size(const struct nest *n) {
    int size = 0;
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind != INST_CONST) size += x->kind == INST_OP ? op_size(x->op, x->dtype) : 1;
    }
    return size;
}

static struct group_size size_of_nest(const struct nest *n) {
    struct group_size out = {.size = nest_size(n)};
    for (uint32_t i = 0; i < n->insts.n; i++)
        out.subscripts += n->insts.at[i].kind == INST_SUBSCRIPT;
    return out;
}

const char *too_big(struct fuser *f, uint32_t a, uint32_t b) {
    struct arena *arena = f->arena;
    const struct group *A = group_at(f, a), *B = group_at(f, b);
    uint32_t nests = A->members.n + B->members.n;
    int size = f->size[a].size + f->size[b].size;
    int looked_up = f->size[a].subscripts + f->size[b].subscripts;
    if (nests > GROUP_MAX_NESTS)
        return arena_printf(arena, "%u operators are too many for a kernel", nests);
    if (size > GROUP_MAX_SIZE)
        return arena_printf(arena, "%d instructions an element are too many for a kernel", size);
    if ((A->matmul || B->matmul) && size > GROUP_MAX_EPILOGUE)
        return arena_printf(arena, "%d instructions an element are too many behind a product",
                            size);
    if (looked_up > GROUP_MAX_SUBSCRIPTS)
        return arena_printf(arena, "%d index tensors are too many for a kernel", looked_up);
    int n = arguments(f, a, b);
    if (n <= GROUP_MAX_BUFFERS) return NULL;
    f->size[a].full |= arguments(f, a, a) >= GROUP_MAX_BUFFERS;
    f->size[b].full |= arguments(f, b, b) >= GROUP_MAX_BUFFERS;
    return arena_printf(arena, "%d tensors are too many for a kernel", n);
}

/* A product, more axes, or a reduction, makes the host. */
static bool hosts(struct fuser *f, uint32_t g, uint32_t h) {
    const struct group *G = group_at(f, g), *H = group_at(f, h);
    if (G->matmul != H->matmul) return G->matmul;
    if (!G->n_r != !H->n_r) return G->n_r != 0;
    if (!G->n_batch != !H->n_batch) return G->n_batch != 0;
    return G->n_x + G->n_r >= H->n_x + H->n_r;
}

void plan_fit(struct fuser *f, struct merge *m) {
    m->host = hosts(f, m->a, m->b) ? m->a : m->b;
    m->guest = m->host == m->a ? m->b : m->a;
    bind_axes(f, m);
    if (m->by_places) take_arms(f, m);
    m->why_not = group_at(f, m->guest)->n_arms ? "its arms are none of the other's" : covers(f, m);
    if (!m->why_not && !all_readable(f, m))
        m->why_not = "a reduction is read at other rows than its own";
    if (!m->why_not) m->why_not = nothing_shared(f, m);
    if (!m->why_not && (group_at(f, m->a)->columns || group_at(f, m->b)->columns))
        m->why_not = columns_too_wide(f, m);
    if (m->why_not) plan_columns(f, m);
}

/* The one that comes first vanishes into the other, if it may; else leaves why_not. */
static void plan_inlining(struct fuser *f, struct merge *m) {
    struct merge c = {.a = m->a, .b = m->b, .saved = m->saved, .inline_guest = true};
    c.guest = depends(f, m->b, m->a) ? m->a : m->b;
    c.host = c.guest == m->a ? m->b : m->a;
    bool may = can_inline(f, c.guest, c.host) && !group_at(f, c.host)->matmul;
    if (may && all_readable(f, &c)) *m = c;
}

static void renew_scratch(struct fuser *f) {
    enum { LARGE = 1 << 20 };
    if (arena_used(f->scratch) < LARGE) return;
    arena_free(f->scratch);
    f->scratch = arena_new();
}

uint32_t epoch_of(struct fuser *f, uint32_t g) {
    return nest_at(f, group_at(f, g)->members.at[0].nest)->epoch;
}

static uint32_t chain_of(struct fuser *f, uint32_t g) {
    return nest_at(f, group_at(f, g)->members.at[0].nest)->chain;
}

static int64_t numel_of(struct fuser *f, const struct group *G) {
    return axes_numel(f->l, G->x, G->n_x) * axes_numel(f->l, G->r, G->n_r);
}

/* Would what the guest makes be made again for each of many elements that share it, and take longer
 * so than to be stored and read? As relative positions, looked up in a table, are for each image of
 * a batch. Counted as recompute.c does, and a launch takes as long as a GPU adds up so much. */
static const char *shared_reason(struct fuser *f, const struct merge *m) {
    enum { WORK_OF_BYTE = 8, WORK_OF_LOOKUP = 8, LEAST_TIMES = 4, WORK_OF_LAUNCH = 1 << 25 };
    const struct group *G = group_at(f, m->guest), *H = group_at(f, m->host);
    if (f->eager || G->n_r || G->scan || G->matmul || H->matmul || !depends(f, m->host, m->guest))
        return NULL;
    int64_t once = numel_of(f, G), all = numel_of(f, H);
    if (all < LEAST_TIMES * once) return NULL;
    if (!f->size[m->guest].subscripts && !is_dear(f, G)) return NULL;
    if (group_compares_places(f, m->host)) return NULL;
    int64_t work = f->size[m->guest].size + WORK_OF_LOOKUP * f->size[m->guest].subscripts;
    if (work * (all - once) <= m->saved * WORK_OF_BYTE + WORK_OF_LAUNCH) return NULL;
    return arena_printf(f->arena, "it would be made again for each of %lld elements that share it",
                        (long long)(all / once));
}

/* Fill in how b joins a, or why it may not. */
static void plan(struct fuser *f, struct merge *m) {
    renew_scratch(f);
    if (f->eager && !same_origin(f, m->a, m->b) && !has_no_room(f, m->a, m->b)) {
        m->why_not = "eager: they are different operators";
        return;
    }
    if (epoch_of(f, m->a) != epoch_of(f, m->b)) {
        m->why_not = "they are not of the same steps";
        return;
    }
    if (chain_of(f, m->a) != chain_of(f, m->b)) {
        m->why_not = "one of them is made for a product behind it";
        return;
    }
    if ((m->why_not = once_reason(f, m))) return;
    if ((m->why_not = at_load_reason(f, m))) return;
    if ((m->why_not = too_big(f, m->a, m->b))) return;
    if (third_between(f, m->a, m->b)) {
        m->why_not = "another kernel stands between them";
        return;
    }
    m->host = hosts(f, m->a, m->b) ? m->a : m->b;
    m->guest = m->host == m->a ? m->b : m->a;
    if ((m->why_not = matmul_reason(f, m))) return;
    if ((m->why_not = scan_reason(f, m))) return;
    if ((m->why_not = landing_reason(f, m))) return;
    if ((m->why_not = across_reason(f, m))) return;
    plan_fit(f, m);
    if (m->why_not) plan_inlining(f, m);
    if (m->why_not || (!m->inline_guest && !m->across && !they_meet(f, m))) plan_split(f, m);
    if (!m->why_not && !m->across) m->why_not = too_few_rows(f, m);
    if (!m->why_not) m->why_not = scanned_rows_reason(f, m);
    if (!m->why_not) m->why_not = epilogue_reason(f, m);
    if (!m->why_not) m->why_not = copies_reason(f, m);
    if (!m->why_not) m->why_not = shared_reason(f, m);
}

/* ---- merging --------------------------------------------------------------------------------- */

static void put_names(struct fuser *f, struct buf *b, uint32_t g) {
    const struct group *G = group_at(f, g);
    for (uint32_t k = 0; k < G->members.n; k++)
        buf_printf(b, "%s%s", k ? "+" : "", nest_at(f, G->members.at[k].nest)->name);
}

static void log_decision(struct fuser *f, const struct merge *m) {
    struct buf b = buf_new(f->scratch);
    put_names(f, &b, m->a);
    buf_puts(&b, "  with  ");
    put_names(f, &b, m->b);
    if (m->why_not)
        buf_printf(&b, ": not fused: %s\n", m->why_not);
    else if (!m->saved)
        buf_puts(&b, ": fused, saves a launch\n");
    else
        buf_printf(&b, ": %s, saves %lld bytes\n",
                   m->inline_guest ? "inlined"
                   : m->by_places  ? "fused, axes split"
                                   : "fused",
                   (long long)m->saved);
    if (map_puts(&f->seen, b.p, 1)) buf_puts(&f->s->log, b.p);
}

static void join(struct fuser *f, const struct merge *m) {
    if (m->split[0]) *group_at(f, m->a) = *m->split[0];
    if (m->split[1]) *group_at(f, m->b) = *m->split[1];
    struct group *H = group_at(f, m->host), *G = group_at(f, m->guest), out = *H;
    memset(&out.members, 0, sizeof out.members);
    out.matmul = H->matmul || G->matmul;
    out.scan = H->scan || G->scan;
    out.columns = H->columns || G->columns || m->across;
    if (m->in_batches) bring_batches_first(f, m, &out);
    uint32_t i = 0, j = 0;
    vec_reserve(f->s->arena, &out.members, H->members.n + G->members.n);
    while (i < H->members.n || j < G->members.n) { /* both lists are in nest order: merge */
        bool from_host = j == G->members.n ||
                         (i < H->members.n && H->members.at[i].nest < G->members.at[j].nest);
        struct member M = from_host ? H->members.at[i++] : G->members.at[j++];
        if (!from_host) {
            M.inlined |= m->inline_guest;
            for (int k = 0; k < M.n; k++)
                M.to[k] = ex_subst(f->l->ex, M.to[k], m->from, m->to, m->n);
        }
        vec_push(f->s->arena, &out.members, M);
        f->s->group_of[M.nest] = m->host;
    }
    *H = out;
    f->alive[m->guest] = false;
    f->size[m->host].size += f->size[m->guest].size;
    f->size[m->host].subscripts += f->size[m->guest].subscripts;
    join_accesses(f, m->host, m->guest);
    join_partners(f, m->host, m->guest);
}

/* Is g what follows for each row of the reduction h: sqrt(sum(x, 1))? */
static bool is_epilogue(struct fuser *f, uint32_t g, uint32_t h) {
    const struct group *G = group_at(f, g), *H = group_at(f, h);
    return H->n_r && !H->matmul && !G->n_r && depends(f, g, h) &&
           axes_numel(f->l, G->x, G->n_x) <= axes_numel(f->l, H->x, H->n_x) &&
           !waits_beside(f, g, h);
}

/* Is g a copy of what product h comes to, in another order? */
static bool is_turned_product(struct fuser *f, uint32_t g, uint32_t h) {
    const struct group *G = group_at(f, g);
    if (!group_at(f, h)->matmul || G->matmul || G->n_r || G->members.n != 1) return false;
    const struct nest *n = nest_at(f, G->members.at[0].nest);
    const struct inst *load = &n->insts.at[0];
    if (load->kind != INST_LOAD || !load_goes_across(f->l, n, load)) return false;
    for (uint32_t i = 1; i < n->insts.n; i++)
        if (n->insts.at[i].kind != INST_CAST) return false;
    uint32_t from = f->s->writer[load->buffer];
    return from != NO_NEST && f->s->group_of[from] == h && nest_at(f, from)->matmul;
}

/* Epilogues come first, little as they save: left alone they would stand between their reduction
 * and whatever reads both. So do products and their copies in another order, in which tiles are
 * stored as well: who reads the copy would have it, too, but reads the product across. */
bool comes_first(struct fuser *f, uint32_t a, uint32_t b) {
    return is_epilogue(f, a, b) || is_epilogue(f, b, a) || is_turned_product(f, a, b) ||
           is_turned_product(f, b, a);
}

/* The legal merge that saves most; ties go to the earliest pair, so the result is deterministic.
 * What two groups save together, and that they may not merge, stays true until one of them changes:
 * merges of others keep every reader and every path between the two. */
static bool best_merge(struct fuser *f, struct merge *best) {
    uint32_t a = f->n, i = 0;
    int64_t worth = 0;
    struct partner x;
    while (next_pair(f, &a, &i, worth, &x)) {
        struct merge m = {.a = a, .b = x.group, .saved = pair_saves(x)};
        plan(f, &m);
        if (m.why_not) {
            log_decision(f, &m);
            refuse_pair(f, a, x.group);
            continue;
        }
        *best = m;
        worth = x.worth;
        i++;
    }
    return worth > 0;
}

static void start_group(struct fuser *f, uint32_t nest) {
    const struct nest *n = nest_at(f, nest);
    struct group g = {.n_x = n->n_axes, .n_r = n->n_reduce, .matmul = n->matmul && n->n_reduce};
    struct member M = {.nest = nest, .n = n->n_axes + n->n_reduce};
    memcpy(g.x, n->axes, sizeof(ex) * (size_t)n->n_axes);
    memcpy(g.r, n->reduce, sizeof(ex) * (size_t)n->n_reduce);
    if (n->scan) { /* its axis becomes R */
        g.scan = true;
        g.n_x = 0;
        for (int k = 0; k < n->n_axes; k++)
            if (n->axes[k] != n->scan) g.x[g.n_x++] = n->axes[k];
        g.r[g.n_r++] = n->scan;
    }
    for (int k = 0; k < M.n; k++)
        M.from[k] = M.to[k] = k < n->n_axes ? n->axes[k] : n->reduce[k - n->n_axes];
    vec_reserve(f->s->arena, &g.members, 1); /* that of many groups stays so */
    vec_push(f->s->arena, &g.members, M);
    vec_push(f->s->arena, &f->s->groups, g);
}

/* Is what a product comes to reduced in its kernel? */
static bool reduces_behind(struct fuser *f, const struct group *g) {
    for (uint32_t m = 0; m < g->members.n && g->matmul; m++) {
        const struct nest *n = nest_at(f, g->members.at[m].nest);
        if (n->n_reduce && !n->matmul) return true;
    }
    return false;
}

struct schedule *fuse_nests(struct loops *l, const struct device_limits *limits, enum fusing what,
                            const struct apart_marks *marks, struct arena *a) {
    bool eager = what == FUSING_EAGER;
    struct schedule *s = NEW(a, struct schedule);
    *s = (struct schedule){.arena = a, .loops = l, .log = buf_new(a), .n_buffers = l->buffers.n};
    s->group_of = NEW_ARRAY(a, uint32_t, l->nests.n);
    s->writer = NEW_ARRAY(a, uint32_t, l->buffers.n);
    s->stored = NEW_ARRAY(a, bool, l->buffers.n);
    s->offset = NEW_ARRAY(a, size_t, l->buffers.n);
    for (buffer_id b = 0; b < l->buffers.n; b++) s->writer[b] = NO_NEST;
    struct arena *own = arena_within(a);
    struct fuser f = {.s = s,
                      .arena = own,
                      .l = l,
                      .limits = limits,
                      .eager = eager,
                      .seen = map_new(own),
                      .halves = map_new(own)};
    WS_ASSERT(!marks || marks->n == l->buffers.n);
    f.apart = marks ? marks->of : NULL;
    if (what == FUSING_APART) {
        uint8_t *all = NEW_ARRAY(own, uint8_t, l->buffers.n);
        memset(all, APART_REDUCED, l->buffers.n);
        f.apart = all;
    }
    f.scratch = arena_new();
    for (int d = 0; d < 2 * WS_MAX_RANK; d++) /* of any size: nothing is simplified for one */
        f.dims[d] = ex_index(l->ex, arena_printf(a, "$d%d", d), ex_const(l->ex, INT32_MAX));
    f.n = l->nests.n;
    f.alive = NEW_ARRAY(own, bool, f.n);
    f.size = NEW_ARRAY(own, struct group_size, f.n);
    vec_reserve(a, &s->groups, f.n);
    for (uint32_t n = 0; n < f.n; n++) {
        start_group(&f, n);
        s->group_of[n] = n;
        s->writer[l->nests.at[n].out] = n;
        f.alive[n] = true;
        f.size[n] = size_of_nest(&l->nests.at[n]);
    }
    s->once = values_made_once(s, limits->kind == DEVICE_CUDA);
    s->turned = NEW_ARRAY(a, bool, l->buffers.n);
    for (buffer_id b = 0; marks && b < marks->n; b++) {
        s->once[b] |= marks->of[b] & APART_WINDOWS;
        s->turned[b] = marks->of[b] & APART_TURNED;
    }
    s->fixed = values_fixed(l, eager, a);
    find_all_accesses(&f);
    find_partners(&f);
    struct merge m;
    while (best_merge(&f, &m) || (!eager && find_abreast(&f, &m))) {
        log_decision(&f, &m);
        join(&f, &m);
    }
    uint32_t kept = 0; /* close the gaps */
    for (uint32_t g = 0; g < s->groups.n; g++)
        if (f.alive[g]) {
            s->may_be_apart |= reduces_behind(&f, &s->groups.at[g]);
            s->groups.at[kept++] = s->groups.at[g];
        }
    s->groups.n = kept;
    for (uint32_t g = 0; g < kept; g++)
        for (uint32_t k = 0; k < s->groups.at[g].members.n; k++)
            s->group_of[s->groups.at[g].members.at[k].nest] = g;
    arena_free(f.scratch);
    arena_free(own);
    return s;
}

static struct schedule *fuse_loops(struct loops *l, const struct device_limits *limits,
                                   enum fusing what, const struct apart_marks *marks,
                                   struct arena *a) {
    bool eager = what == FUSING_EAGER;
    schedule_nested(l, eager);
    if (!eager && limits->kind == DEVICE_CUDA) schedule_unroll(l);
    if (!eager) schedule_by_rows(l, limits);
    return fuse_nests(l, limits, what, marks, a);
}

struct schedule *schedule_fuse(struct loops *l, const struct device_limits *limits,
                               enum fusing what, struct arena *a) {
    return fuse_loops(l, limits, what, NULL, a);
}

struct schedule *schedule_fuse_apart(struct loops *l, const struct device_limits *limits,
                                     const struct apart_marks *marks, struct arena *a) {
    return fuse_loops(l, limits, FUSING_ALL, marks, a);
}
