/* epilogue.c: reductions behind a matrix product, of what its kernel has in registers:
 *
 *   c = a @ b; y = relu(c).sum(1)
 *
 *   mm x[i0: 4096, i1: 4096] r[r0: 4096];  relu x[i0, i1];  sum x[i0: 4096] r[r1: 4096]
 * ->
 *   one group x[i0: 4096, i1: 4096] r[r0: 4096], whose sum goes along i1, an axis of x
 *
 * A tile of the product has some columns of some rows, so each tile has a part of what a row comes
 * to, and c need not be in memory. That may be if
 *   - the device multiplies such numbers on its matrix units, and sizes are known;
 *   - all reductions go along the same axes, which are all of the left factor's own, or of the
 *     right one's, or both, or these and the batches; or the last of the right one's, and last ones
 *     of the left one's or none: the pixels of each image, with the channels of each group;
 *   - what reads, element by element, what rows come to, or columns, reads these alone: the kernel
 *     makes rows of columns (kernel/axes.c). The blocks that share rows are at work at a time, and
 *     wait for each other with what they have in registers; if there are so many blocks, and not
 *     too many of the device's are idle then;
 *   - there are enough tiles; else parts of the depth fill the device, whose sums are complete
 *     nowhere before all have come. */
#include "schedule/fuse.h"

enum { OF_LEFT = 1, OF_RIGHT = 2 };
enum { TILE = 64, DEEP = 1024, SECTOR = 32 };

static const struct group *side(struct fuser *f, const struct merge *m, bool b) {
    const struct group *split = m->split[b];
    return split ? split : group_at(f, b ? m->b : m->a);
}

static ex in_host(struct fuser *f, const struct merge *m, const struct member *M, ex own) {
    ex in_group = ex_subst(f->l->ex, own, M->from, M->to, M->n);
    return ex_subst(f->l->ex, in_group, m->from, m->to, m->n);
}

/* Both groups' members in nest order: 0 after the last one. */
struct walk {
    const struct group *side[2];
    uint32_t at[2];
};

static const struct member *next_member(struct walk *w) {
    const struct group *A = w->side[0], *B = w->side[1];
    bool none_of_a = w->at[0] == A->members.n, none_of_b = w->at[1] == B->members.n;
    if (none_of_a && none_of_b) return NULL;
    bool b =
        none_of_a || (!none_of_b && B->members.at[w->at[1]].nest < A->members.at[w->at[0]].nest);
    return &w->side[b]->members.at[w->at[b]++];
}

static struct walk walk_both(struct fuser *f, const struct merge *m) {
    return (struct walk){.side = {side(f, m, false), side(f, m, true)}};
}

static const struct group *host_of(struct fuser *f, const struct merge *m) {
    return side(f, m, m->host == m->b);
}

/* Bits of the host's parallel axes that e is made of. */
static uint32_t axes_in(struct fuser *f, const struct group *H, ex e) {
    uint32_t axes = 0;
    for (int k = 0; k < H->n_x; k++)
        if (ex_uses(f->l->ex, e, H->x[k])) axes |= UINT32_C(1) << k;
    return axes;
}

static uint32_t reduced_axes(struct fuser *f, const struct merge *m, const struct member *M) {
    const struct nest *n = nest_at(f, M->nest);
    uint32_t axes = 0;
    for (int i = 0; i < n->n_reduce && !n->matmul; i++)
        axes |= axes_in(f, host_of(f, m), in_host(f, m, M, n->reduce[i]));
    return axes;
}

/* Is all of dimension d one element? */
static bool is_expanded(struct fuser *f, buffer_id buffer, int d) {
    int64_t stride;
    ex of_d = f->l->buffers.at[buffer].meta.stride[d];
    return ex_is_const(f->l->ex, of_d, &stride) && stride == 0;
}

/* Those that instruction i of the product's nest varies with. */
static uint32_t factor_axes(struct fuser *f, const struct merge *m, const struct member *M,
                            inst_id i) {
    const struct inst *x = &nest_at(f, M->nest)->insts.at[i];
    uint32_t axes = 0;
    for (int d = 0; d < x->n_index; d++)
        if (x->kind != INST_LOAD || !is_expanded(f, x->buffer, d))
            axes |= axes_in(f, host_of(f, m), in_host(f, m, M, x->index[d]));
    for (int a = 0; a < x->n_args; a++) axes |= factor_axes(f, m, M, x->args[a]);
    return axes;
}

/* The last instruction, a sum of products. */
static const struct inst *product_of(struct fuser *f, const struct member *M) {
    const struct nest *n = nest_at(f, M->nest);
    const struct inst *sum = &n->insts.at[n->insts.n - 1];
    return &n->insts.at[sum->args[0]];
}

struct product_axes {
    uint32_t left, right, both; /* axes that are one factor's, or both's */
};

static struct product_axes product_axes(struct fuser *f, const struct merge *m,
                                        const struct member *M) {
    const struct inst *mul = product_of(f, M);
    uint32_t a = factor_axes(f, m, M, mul->args[0]), b = factor_axes(f, m, M, mul->args[1]);
    return (struct product_axes){.left = a & ~b, .right = b & ~a, .both = a & b};
}

static int64_t size_of_axes(struct fuser *f, const struct group *H, uint32_t axes) {
    int64_t n = 1;
    for (int k = 0; k < H->n_x; k++)
        if (axes >> k & 1) n *= axes_numel(f->l, &H->x[k], 1);
    return n;
}

static bool sizes_known(struct fuser *f, const struct group *H) {
    int64_t n;
    for (int k = 0; k < H->n_x + H->n_r; k++) {
        ex axis = k < H->n_x ? H->x[k] : H->r[k - H->n_x];
        if (!ex_is_const(f->l->ex, ex_symbol(f->l->ex, axis)->bound, &n) || n < 1) return false;
    }
    return true;
}

/* Reduced axes of the nest that a load shares dimensions with parallel ones along: taps of windows.
 * The other ones are the windows' channels. */
static uint32_t tap_axes(struct fuser *f, const struct nest *n, const struct inst *load) {
    uint32_t taps = 0;
    for (int d = 0; d < load->n_index; d++) {
        uint32_t reduced = 0;
        bool slides = false;
        for (int i = 0; i < n->n_reduce; i++)
            if (ex_uses(f->l->ex, load->index[d], n->reduce[i])) reduced |= UINT32_C(1) << i;
        for (int i = 0; i < n->n_axes && reduced; i++)
            slides |= ex_uses(f->l->ex, load->index[d], n->axes[i]);
        if (slides) taps |= reduced;
    }
    return taps;
}

/* Most elements of the image of a factor, one copy of each that it multiplies (kernel/operand.c);
 * of one read through windows of enough channels, of each that is there, filled up with zeros. */
static int64_t image_elements(struct fuser *f, const struct nest *n, inst_id factor, int64_t own) {
    enum { ENOUGH = 16 };
    const struct inst *x = &n->insts.at[factor];
    int64_t most = 0, size;
    for (int a = 0; a < x->n_args; a++) {
        size = image_elements(f, n, x->args[a], own);
        if (size > most) most = size;
    }
    if (x->kind != INST_LOAD) return most;
    uint32_t taps = tap_axes(f, n, x);
    const struct meta *m = &f->l->buffers.at[x->buffer].meta;
    int64_t channels = 1, all = 1;
    for (int i = 0; i < n->n_reduce; i++)
        if (!(taps >> i & 1)) channels *= axes_numel(f->l, &n->reduce[i], 1);
    if (!taps || channels < ENOUGH) return own;
    for (int d = 0; d < m->rank; d++) {
        if (!ex_is_const(f->l->ex, m->size[d], &size)) return own;
        all *= size;
    }
    return own < 2 * all ? own : 2 * all;
}

/* Can a kernel of the device have the product's tiles in registers, whatever its factors are? */
static const char *units_reason(struct fuser *f, const struct merge *m, const struct member *M) {
    const struct group *H = host_of(f, m);
    const struct nest *n = nest_at(f, M->nest);
    enum dtype t = n->insts.at[n->insts.n - 1].dtype;
    if (!device_has_matrix_units(f->limits, t, n->precision))
        return "the sums of its elements are not in registers, as those of matrix units are";
    if (!sizes_known(f, H)) return "matrix units need sizes that are known";
    struct product_axes p = product_axes(f, m, M);
    if (!p.left || !p.right) return "the product is no product of matrices";
    int64_t depth = axes_numel(f->l, H->r, H->n_r), of_z = size_of_axes(f, H, p.both),
            rows = size_of_axes(f, H, p.left), columns = size_of_axes(f, H, p.right);
    if (depth > MATRIX_SIZE || of_z > MATRIX_SIZE || rows > MATRIX_SIZE || columns > MATRIX_SIZE)
        return "the product is larger than matrix units are told of";
    int64_t most = device_image_bytes(f->limits) / (t == DT_F32 ? 6 : 2) / 2;
    const struct inst *mul = product_of(f, M);
    if (image_elements(f, n, mul->args[0], rows * of_z * depth) > most ||
        image_elements(f, n, mul->args[1], columns * of_z * depth) > most)
        return "a factor's image would be too large";
    int64_t tiles = of_z * ((rows + TILE - 1) / TILE) * ((columns + TILE - 1) / TILE);
    if (tiles < f->limits->units && depth > DEEP)
        return arena_printf(f->arena, "%lld tiles cannot fill %d units, but parts of the depth",
                            (long long)tiles, f->limits->units);
    return NULL;
}

/* Does anything that varies with the axes reduced read what they are reduced to? */
static bool reads_rows(struct fuser *f, const struct merge *m, uint32_t over) {
    struct walk w = walk_both(f, m);
    struct map stands = map_new(f->scratch); /* nests that are reduced along them, or read such */
    uint64_t yes;
    for (const struct member *M; (M = next_member(&w));) {
        const struct nest *n = nest_at(f, M->nest);
        bool reads = false;
        for (uint32_t i = 0; i < n->insts.n; i++) {
            if (n->insts.at[i].kind != INST_LOAD) continue;
            uint32_t writer = f->s->writer[n->insts.at[i].buffer];
            reads |= writer != NO_NEST && map_get(&stands, &writer, sizeof writer, &yes);
        }
        uint32_t axes = 0;
        for (int i = 0; i < n->n_axes; i++)
            axes |= axes_in(f, host_of(f, m), in_host(f, m, M, n->axes[i]));
        bool reduces = reduced_axes(f, m, M) != 0;
        if (reads && ((axes & over) || reduces)) return true;
        if (reads || reduces) map_put(&stands, &M->nest, sizeof M->nest, 1);
    }
    return false;
}

/* Are these the last of `all` axes of the host, in its order? */
static bool are_last(const struct group *H, uint32_t axes, uint32_t all) {
    bool were = false;
    for (int k = 0; k < H->n_x; k++) {
        if (!(all >> k & 1)) continue;
        if (were && !(axes >> k & 1)) return false;
        were |= axes >> k & 1;
    }
    return true;
}

/* Reduced along the last of the columns' axes, a span of neighbours, and of the rows' as well, if
 * at all: of each image, of the channels of each group. Few filters in f32 are columns if nothing
 * stands behind them (kernel/axes.c), which gains more than a pass for a group norm's statistics
 * costs. */
static const char *spans_reason(struct fuser *f, const struct merge *m, struct product_axes p,
                                enum dtype t, uint32_t over) {
    enum { LEAST = 128 }; /* columns: a warp's are not to be of many spans */
    enum { FEW = 32 };    /* rows: half of those that a warpgroup has */
    const struct group *H = host_of(f, m);
    const char *some = "a reduction goes along some of the product's rows or columns";
    uint32_t columns = over & p.right;
    if (!columns || columns == p.right || over & p.both) return some;
    if (!are_last(H, columns, p.right) || !are_last(H, over & p.left, p.left)) return some;
    if (size_of_axes(f, H, columns) < LEAST)
        return "a reduction goes along few of the product's columns";
    if (f->limits->wgmma && t == DT_F32 && size_of_axes(f, H, p.left) <= FEW)
        return "few rows of a product are columns, if nothing goes along a part of the others";
    struct walk w = walk_both(f, m);
    for (const struct member *M; (M = next_member(&w));) {
        const struct nest *n = nest_at(f, M->nest);
        if (reduced_axes(f, m, M) && reduction_of_pairs(n->insts.at[n->insts.n - 1].reduction))
            return "a place is looked for along some of the product's columns";
    }
    return reads_rows(f, m, over) ? "elements read what a part of their row comes to" : NULL;
}

/* Axes along which all of them reduce: one set. */
static const char *over_reason(struct fuser *f, const struct merge *m, struct product_axes p,
                               enum dtype t, uint32_t over) {
    struct walk w = walk_both(f, m);
    for (const struct member *M; (M = next_member(&w));) {
        uint32_t axes = reduced_axes(f, m, M);
        if (axes && axes != over) return "the product's reductions go along different axes";
    }
    uint32_t rest = over;
    if (!(over & (p.left | p.right))) return "a reduction goes along the product's batches alone";
    if ((rest & p.left) == p.left) rest &= ~p.left;
    if ((rest & p.right) == p.right) rest &= ~p.right;
    if ((rest & p.both) == p.both) rest &= ~p.both;
    return rest ? spans_reason(f, m, p, t, over) : NULL;
}

/* Tiles of the largest size in turns of so many blocks. */
static int64_t turns(int64_t tiles, int64_t blocks) { return (tiles + blocks - 1) / blocks; }

/* What waits for the row's other tiles has these at work at the same time. */
static const char *readers_reason(struct fuser *f, const struct merge *m, const struct member *M,
                                  uint32_t over) {
    enum { ROWS = 128, COLUMNS = 128, PERCENT = 115 };
    const struct group *H = host_of(f, m);
    struct product_axes p = product_axes(f, m, M);
    const struct nest *n = nest_at(f, M->nest);
    bool wide = f->limits->wgmma && n->insts.at[n->insts.n - 1].dtype != DT_F32;
    int64_t width = wide ? 2 * COLUMNS : COLUMNS, units = f->limits->units;
    if (over != p.right && over != p.left)
        return "elements read what more than their row, or their column, comes to";
    uint32_t others = over == p.right ? p.left : p.right;
    int64_t sharing = (size_of_axes(f, H, over) + width - 1) / width;
    int64_t down = size_of_axes(f, H, p.both) * ((size_of_axes(f, H, others) + ROWS - 1) / ROWS);
    if (sharing == 1) return NULL;
    if (sharing > units)
        return arena_printf(f->arena, "%lld tiles share a row; %lld blocks are at work at a time",
                            (long long)sharing, (long long)units);
    if (turns(down * sharing, units - units % sharing) * 100 >
        turns(down * sharing, units) * PERCENT)
        return arena_printf(f->arena, "%lld tiles share a row, which leaves %lld units idle",
                            (long long)sharing, (long long)(units % sharing));
    return NULL;
}

/* Does nest n reduce windows, which nest w moves? Some dimension that w reads is an axis that n
 * reduces, or goes along element by element (unroll.c), beside one that it keeps. */
static bool reduces_windows(struct fuser *f, const struct nest *n, const struct nest *w) {
    const struct inst *moved = &w->insts.at[0];
    for (uint32_t i = 0; i < n->insts.n && !n->matmul; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind != INST_LOAD || x->buffer != w->out) continue;
        for (int d = 0; d < moved->n_index; d++) {
            bool reduced = false, kept = false;
            for (int k = 0; k < x->n_index; k++) {
                if (!ex_uses(f->l->ex, moved->index[d], w->out_index[k])) continue;
                int64_t number;
                bool along = ex_is_const(f->l->ex, x->index[k], &number);
                for (int r = 0; r < n->n_reduce; r++)
                    along |= ex_uses(f->l->ex, x->index[k], n->reduce[r]);
                reduced |= along, kept |= !along;
            }
            if (reduced && kept) return true;
        }
    }
    return false;
}

/* Windows of what a product comes to, as stored by its tiles, lie in pieces, which takes twice as
 * long as to store pixels, and are read as often as these by who reduces them. */
static const char *windows_reason(struct fuser *f, const struct merge *m) {
    const struct group *G = group_at(f, m->guest);
    if (G->members.n != 1) return NULL;
    const struct nest *w = nest_at(f, G->members.at[0].nest);
    if (w->insts.n != 1 || w->insts.at[0].kind != INST_LOAD) return NULL;
    if (f->s->writer[w->insts.at[0].buffer] == NO_NEST) return NULL;
    for (uint32_t i = 0; i < f->l->nests.n; i++)
        if (reduces_windows(f, nest_at(f, i), w)) return "windows go along with who reduces them";
    return NULL;
}

/* Would elements of which some are reduced, but that lie side by side, be stored by tiles of
 * different batches, less than a sector of memory at a time? Phases of a transposed convolution are
 * columns, which threads store side by side, but not if something is reduced along the others: as
 * batches of halves of sectors, and a softmax, KernelBench's 49 takes an H200 1133 us, as columns,
 * and a pass for the softmax, 520. */
static bool batches_interleave(struct fuser *f, const struct merge *m, uint32_t both,
                               uint32_t over) {
    const struct group *H = host_of(f, m);
    struct exprs *e = f->l->ex;
    struct walk w = walk_both(f, m);
    for (const struct member *M; (M = next_member(&w));) {
        const struct nest *n = nest_at(f, M->nest);
        const struct meta *to = &f->l->buffers.at[n->out].meta;
        ex number = ex_const(e, 0), step, rest;
        bool within = false;
        for (int d = 0; d < to->rank; d++)
            number = ex_add(e, ex_mul(e, number, to->size[d]), in_host(f, m, M, n->out_index[d]));
        for (int k = 0; k < H->n_x; k++)
            within |= both >> k & 1 && ex_linear(e, number, H->x[k], &step, &rest) &&
                      step == ex_const(e, 1) &&
                      axes_numel(f->l, &H->x[k], 1) * dtype_bytes(to->dtype) < SECTOR;
        if (within && axes_in(f, H, number) & over && escapes(f, n->out, m->a, m->b)) return true;
    }
    return false;
}

const char *epilogue_reason(struct fuser *f, const struct merge *m) {
    const char *apart = group_at(f, m->host)->matmul ? windows_reason(f, m) : NULL;
    if (apart) return apart;
    struct walk w = walk_both(f, m);
    const struct member *product = NULL;
    uint32_t over = 0;
    for (const struct member *M; (M = next_member(&w));) {
        if (nest_at(f, M->nest)->matmul) product = M;
        over |= reduced_axes(f, m, M);
    }
    if (!product || !over) return NULL;
    if (f->apart && f->apart[nest_at(f, product->nest)->out] & APART_REDUCED)
        return "what a product comes to is reduced by another kernel";
    if (host_of(f, m)->n_arms) return "what reads the product stores several elements of each sum";
    const char *why = units_reason(f, m, product);
    const struct nest *n = nest_at(f, product->nest);
    enum dtype t = n->insts.at[n->insts.n - 1].dtype;
    struct product_axes p = product_axes(f, m, product);
    if (!why) why = over_reason(f, m, p, t, over);
    if (!why && !pair_is_small(f, m->a, m->b) && batches_interleave(f, m, p.both, over))
        why = "batches would store parts of sectors";
    return why || !reads_rows(f, m, over) ? why : readers_reason(f, m, product, over);
}
