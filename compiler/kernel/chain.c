/* chain.c: no sum is one long chain of additions.
 *
 * Each addition rounds, and an error of the whole sum's size for each of n terms is what makes a
 * sum of a million floats lose three digits. So an accumulator takes a block of terms, and is then
 * *folded*: added to the one above it, which is folded into the next when it has taken `radix`
 * blocks, like the digits of a counter:
 *
 *     2^20 terms, block 16, radix 16, levels 4        terms of   1      a
 *                                                               16      b[0]
 *                                                              256      b[1]
 *                                                             4096      b[2]
 *                                                            65536      b[3]
 *
 * No accumulator is added to more often than max(block, radix) times, and an addition in `block`
 * pays for it. The error of n terms grows with the logarithm of n: Higham, The accuracy of floating
 * point summation, 1993. Prefixes, of which each is a result, are carried with what their additions
 * have lost instead (Neumaier, 1974): that is no chain either.
 *
 * Who sums up what under a config, and in how long a chain, is said here, for the emitters and for
 * layout_chain, which is the longest of all. Short sums are left alone: their texts have no folds.
 */
#include "kernel/kernel.h"

/* Blocks of as few terms as cost nothing to fold. Where memory is at hand a CPU's accumulators are
 * registers, and rows of them are in L1; a GPU's thread has a few of its row, or many, which are
 * folded into local memory. */
enum {
    CPU_FEW = 8,   /* of a row, in registers: of 16 equal terms, most may round the same way */
    CPU_RADIX = 4, /* of as many blocks as there are; of any number, it would be many levels */
    FEW = 16,
    CPU_ROWS = 64, /* of what goes to memory: a task's sums of columns, what lands in a tile */
    GPU_FEW = 32,  /* of a thread that has an accumulator for each row: not worth folding */
    GPU_MANY = 64, /* of one with a vector of them */
    LONGEST = 128, /* of what is folded seldom, or never, if that is all there is */
    LOOK_BACK_BLOCK = 64, /* as prelude/reduce.cuh has it */
    MOST_LEVELS = 2,      /* of a GPU's thread, unless the radix would be larger than LONGEST */
};

static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t longer(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool reduction_rounds(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if ((x->kind != INST_REDUCE && x->kind != INST_SCAN) || !dtype_is_float(x->dtype)) return false;
    switch (x->reduction) {
    case REDUCTION_SUM:
    case REDUCTION_PROD:
    case REDUCTION_M2:
    case REDUCTION_EXPSUM: return true;
    case REDUCTION_AMAX:
    case REDUCTION_AMIN:
    case REDUCTION_ARGMAX:
    case REDUCTION_ARGMIN:
    case REDUCTION_COUNT: break;
    }
    return false;
}

static bool any_rounds(const struct kernel *k, bool across) {
    for (value_id v = 0; v < k->values.n; v++)
        if (reduction_rounds(k, v) && goes_across(&k->values.at[v]) == across) return true;
    return false;
}

/* Most points of the axis; of one that is as long as somebody asks, as many as an index counts. */
static int64_t most_of(const struct kernel *k, enum axis x) {
    int64_t lo, hi, most = k->wide_index ? (int64_t)1 << 40 : INT32_MAX;
    if (!k->bound[x]) return 1;
    ex_range(k->ex, k->bound[x], &lo, &hi);
    return at_most(hi, most);
}

static struct folds never(int64_t terms) { return (struct folds){.terms = terms, .block = 1}; }

/* `n` folds of blocks of so many terms each. */
static struct folds folds_of(int64_t terms, int64_t n, int block, int radix) {
    struct folds f = {.terms = terms, .block = block, .radix = radix, .levels = 1};
    for (; n > radix; n = ceil_div(n, radix)) f.levels++;
    return f;
}

static struct folds folds_beyond(int64_t most, int64_t terms, int block, int radix) {
    return terms <= most ? never(terms) : folds_of(terms, ceil_div(terms, block), block, radix);
}

/* Of a thread, whose registers they take. */
static struct folds with_few_levels(int64_t terms, int64_t n, int block) {
    struct folds f = folds_of(terms, n, block, FEW);
    while (f.levels > MOST_LEVELS && f.radix < LONGEST) f = folds_of(terms, n, block, f.radix * 2);
    return f;
}

int64_t folds_chain(const struct folds *f) {
    return !f->levels ? f->terms : f->block > f->radix ? f->block : f->radix;
}

/* ---- a CPU's tasks --------------------------------------------------------------------------- */

static struct folds cpu_rows(const struct kernel *k, const struct layout *y) {
    int64_t columns = most_of(k, AXIS_R);
    if (y->split > 1) columns = ceil_div(ceil_div(columns, y->br), y->split) * y->br;
    if (y->hits) return folds_beyond(CPU_ROWS, columns, CPU_ROWS, FEW);
    if (y->rows_inner) return folds_beyond(FEW, columns, FEW, FEW);
    int64_t known;
    int radix = ex_is_const(k->ex, k->bound[AXIS_R], &known) ? CPU_RADIX : FEW;
    return folds_beyond(CPU_FEW, ceil_div(columns, y->vec), CPU_FEW, radix);
}

/* ---- a GPU's threads ------------------------------------------------------------------------- */

/* Terms that one accumulator takes in a step, and in a tile. */
static int step_terms(const struct layout *y) { return y->rows_inner ? 1 : y->vec; }
static int tile_terms(const struct layout *y) { return y->ur * step_terms(y); }

static int gpu_block(const struct layout *y) {
    return y->hits ? LONGEST : y->rows_inner ? GPU_MANY : FEW;
}

int layout_fold_steps(const struct layout *y) {
    int steps = gpu_block(y) / step_terms(y);
    return steps < y->ur ? steps : y->ur;
}

int layout_fold_tiles(const struct layout *y) {
    int tiles = 1;
    while (tiles * 2 * tile_terms(y) <= gpu_block(y)) tiles *= 2;
    return tiles;
}

static struct folds gpu_rows(const struct kernel *k, const struct layout *y) {
    int64_t tiles = ceil_div(most_of(k, AXIS_R), y->br);
    if (y->adds) return never(1);
    if (y->hits) return folds_beyond(LONGEST, most_of(k, AXIS_R), LONGEST, LONGEST);
    bool kept = layout_keeps_row(y);
    tiles = y->one_read ? 1 : kept ? y->kept : ceil_div(tiles, (int64_t)y->split * y->cluster);
    int ends = y->peel ? layout_ends(y) : 0, block = gpu_block(y);
    int64_t terms = tiles * tile_terms(y) + ends;
    bool seldom = y->one_read || kept || y->rows_inner;
    if (terms <= (seldom ? LONGEST : longer(block, GPU_FEW))) return never(terms);
    int in_tile = (int)ceil_div(y->ur, layout_fold_steps(y));
    return with_few_levels(terms, ceil_div(tiles, layout_fold_tiles(y)) * in_tile, block + ends);
}

bool layout_sums_vectors(const struct kernel *k, const struct layout *y) {
    bool columns = !y->rows_inner && !y->hits && k->kind == KERNEL_REDUCE && y->vec > 1;
    return columns && gpu_rows(k, y).terms > y->vec;
}

/* ---- either ---------------------------------------------------------------------------------- */

struct folds layout_row_folds(const struct kernel *k, const struct layout *y) {
    if (k->kind != KERNEL_REDUCE || !any_rounds(k, false)) return never(0);
    return k->limits->kind == DEVICE_CPU ? cpu_rows(k, y) : gpu_rows(k, y);
}

/* Rows of a block, of which a thread has every t0th. */
struct folds layout_column_folds(const struct kernel *k, const struct layout *y) {
    if (!k->columns || !any_rounds(k, true)) return never(0);
    int64_t rows = most_of(k, AXIS_X);
    if (k->limits->kind == DEVICE_CPU)
        return folds_beyond(CPU_ROWS, ceil_div(rows, y->blocks), CPU_ROWS, FEW);
    int64_t turns = ceil_div(ceil_div(rows, y->bx), y->blocks);
    int block = LONGEST / y->ex * y->ex;
    if (block < y->ex) block = y->ex;
    return folds_beyond(LONGEST, turns * y->ex, block, LONGEST);
}

struct folds layout_part_folds(const struct kernel *k, int64_t parts) {
    return folds_beyond(k->limits->kind == DEVICE_CPU ? FEW : GPU_FEW, parts, FEW, FEW);
}

/* A CPU's registers have `most` steps of the depth at most, and a panel leaves as many sums as that
 * takes in the tile's; a GPU's thread keeps its own. */
struct folds layout_depth_folds(const struct kernel *k, int depth, int parts) {
    if (!dtype_is_float(k->values.at[k->dot].dtype)) return never(0);
    int64_t panels = ceil_div(ceil_div(most_of(k, AXIS_R), depth), parts), each = depth;
    if (k->limits->kind == DEVICE_CPU) each = ceil_div(depth, DEPTH_AT_ONCE);
    int block = (int)(each < LONGEST ? LONGEST / each * each : each);
    if (panels * each <= LONGEST) return never(panels * each);
    if (each <= LONGEST)
        return folds_of(panels * each, ceil_div(panels * each, block), block, LONGEST);
    return folds_of(panels * each, panels * ceil_div(each, LONGEST), LONGEST, LONGEST);
}

bool layout_carries_error(const struct kernel *k, value_id scan) {
    return reduction_rounds(k, scan) && k->values.at[scan].reduction == REDUCTION_SUM &&
           most_of(k, AXIS_R) > LONGEST;
}

int layout_look_back_levels(const struct kernel *k, const struct layout *y) {
    int warp = k->limits->warp; /* along rows the first one is at the tiles of its group */
    int threads = !y->rows_inner && y->t1 > warp ? y->t1 - warp : y->t1;
    int64_t groups = most_of(k, AXIS_R) / y->br / LOOK_BACK_GROUP, each = ceil_div(groups, threads);
    return folds_beyond(LONGEST, each, LOOK_BACK_BLOCK, LOOK_BACK_BLOCK).levels;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Steps of a tile follow one another in what a block scans. Products are no sums. */
static int64_t scan_chain(const struct kernel *k, const struct layout *y) {
    int64_t longest = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        bool reduces = k->kind == KERNEL_SCAN && x->kind == INST_REDUCE;
        if ((x->kind != INST_SCAN && !reduces) || !reduction_rounds(k, v) ||
            x->reduction != REDUCTION_SUM)
            continue;
        if (reduces) longest = longer(longest, (int64_t)y->ur * (y->rows_inner ? 1 : y->vec));
        if (reduces && k->whole_rows) continue;
        if (!layout_carries_error(k, v)) longest = longer(longest, most_of(k, AXIS_R));
        if (k->limits->kind == DEVICE_CUDA) longest = longer(longest, y->ur);
        if (y->look_back && layout_look_back_levels(k, y))
            longest = longer(longest, LOOK_BACK_BLOCK);
    }
    return longest;
}

/* A thread's elements of a row, or its rows of a column, its rows; warps of a tile; and then tiles,
 * of which a launch behind folds what a thread has of them. */
static int64_t epilogue_chain(const struct kernel *k, const struct layout *y) {
    const struct product *p = y->product;
    if (!k->over || !p) return 0;
    int64_t longest = p->warp_columns / 4;
    longest = longer(longest, p->warp_rows / 8);
    longest = longer(longest, product_warps(y, AXIS_M) * product_warps(y, AXIS_N));
    struct folds parts = layout_part_folds(k, (int)matrix_partials(k, y));
    return longer(longest, folds_chain(&parts));
}

int64_t layout_chain(const struct kernel *k, const struct config *c, const struct layout *y) {
    bool gpu = k->limits->kind == DEVICE_CUDA;
    if (k->kind == KERNEL_PERSISTENT) return persistent_chain(k, y->persistent);
    if (k->kind == KERNEL_RECURRENCE) return y->recurrent->own; /* lanes are added up by twos */
    if (k->kind == KERNEL_SORT) return 0;
    struct folds of[] = {layout_row_folds(k, y), layout_column_folds(k, y), never(0), never(0)};
    int64_t longest = scan_chain(k, y);
    if (k->kind == KERNEL_CHAINED) return y->br / 4; /* of a tile; these are folded in */
    if (k->kind == KERNEL_MATMUL) {
        int depth = gpu ? c->knob[KNOB_k] : y->ur;
        of[2] = y->product ? y->product->folds : layout_depth_folds(k, depth, y->split);
        longest = longer(longest, y->split);
        longest = longer(longest, epilogue_chain(k, y));
        bool rounds = dtype_is_float(k->values.at[k->dot].dtype);
        if (!gpu && rounds) longest = longer(longest, at_most(depth, DEPTH_AT_ONCE));
    }
    if (any_rounds(k, false) && y->split > 1 && !y->product) of[2] = layout_part_folds(k, y->split);
    if (any_rounds(k, true)) of[3] = layout_part_folds(k, y->blocks);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        longest = longer(longest, folds_chain(&of[i]));
    return longest;
}
