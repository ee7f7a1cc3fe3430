/* layout.c: what a config means for a kernel, and whether it is legal.
 *
 *     columns inner   x=2 r=4096 warps=8 vec=8 keep=1  ->  2 rows of 128 threads, each 4 steps of 8
 *                                                          columns
 *     rows inner      x=128 r=32 warps=8 vec=4         ->  32 threads along x, 8 along r
 *
 * Every refusal names the knob and the number it fails on. */
#include "kernel/kernel.h"

enum {
    MAX_REGISTERS_KEPT = 192, /* 32-bit registers a thread may spend on the row it keeps */
    MAX_STAGES = 8,
    MAX_TILES_KEPT = 32, /* of a row in shared memory */
    MAX_VALUES_SCANNED = 256,
    MAX_BLOCKS = 32,        /* of a multiprocessor that go over many rows */
    MAX_ELEMENTS = 512,     /* of a tile, per thread */
    MAX_ACCUMULATORS = 128, /* of a matrix product, per thread */
    MAX_TESTED = 32,        /* sources that a thread tests at a time: bits of a word */
    MAX_STACK = 1 << 20,    /* bytes of tiles that a task may have on a CPU's stack */
};

static bool is_power_of_two(int v) { return v > 0 && (v & (v - 1)) == 0; }
static int at_least_1(int v) { return v ? v : 1; }

/* Something is left to reduce along rows: all of it may have been unrolled. */
static bool reduces_rows(const struct kernel *k) { return k->kind == KERNEL_REDUCE && k->levels; }

bool kernel_reads_twice(const struct kernel *k) {
    if (k->kind != KERNEL_REDUCE) return false;
    if (k->levels > 1) return true;
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->stores.at[i].mask & MASK_R && k->values.at[k->stores.at[i].value].level > 0)
            return true;
    for (value_id v = 0; v < k->values.n; v++)
        if (goes_across(&k->values.at[v]) && k->values.at[v].level > 0) return true;
    return false;
}

/* One by one, though they lie side by side. */
static bool loads_by_elements(const struct kernel *k, const struct layout *y, value_id load) {
    const struct value_node *v = &k->values.at[load];
    bool whole = layout_load_is_vector(k, y, v) || layout_load_shifts(k, y, v) ||
                 layout_load_reverses(k, y, v) || layout_turns(k, y, load);
    return !whole && load_usual_stride(k, v, AXIS_R) == 1;
}

int layout_load_words(const struct kernel *k, const struct layout *y) {
    int words = layout_window_words(k, y);
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind != INST_LOAD || !(v->mask & MASK_R) || layout_tap(y, i)) continue;
        int bytes = dtype_bytes(v->dtype),
            rows = v->mask & MASK_X || (y->peel && !y->one_head) ? y->ex : 1;
        if (layout_load_is_uniform(k, y, v)) {
            words += (bytes + 3) / 4 * y->ur * rows;
        } else if (y->peel) { /* single elements take a register each */
            int word = (bytes + 3) / 4,
                whole = layout_load_is_vector(k, y, v) || layout_load_shifts(k, y, v) ||
                        layout_turns_pairs(k, y, i),
                vector = whole ? (bytes * y->vec + 3) / 4 : word * y->vec;
            words += (vector * y->ur + word * layout_ends(y)) * rows;
        } else if (k->kind == KERNEL_POINTWISE && loads_by_elements(k, y, i)) {
            words += (bytes + 3) / 4 * y->vec * y->ur * rows; /* as above */
        } else {
            words += (bytes * y->vec * y->ur * rows + 3) / 4;
        }
    }
    return words;
}

int layout_scan_words(const struct kernel *k, const struct layout *y) {
    int words = 0;
    for (uint32_t i = 0; i < k->values.n; i++)
        if (k->values.at[i].kind == INST_SCAN)
            words += (y->ex * y->ur * y->vec * reduction_bytes(k, i) + 3) / 4;
    return words;
}

int layout_warps(const struct kernel *k, const struct layout *y) {
    return y->threads / k->limits->warp;
}

bool layout_joins_warps(const struct kernel *k, const struct layout *y) {
    return y->t1 > k->limits->warp;
}

int layout_row_slots(const struct kernel *k, const struct layout *y) {
    return layout_joins_warps(k, y) ? layout_warps(k, y) : 0;
}

int layout_column_slots(const struct kernel *k, const struct layout *y) {
    int warp = k->limits->warp, in_warp = y->t0 < warp ? warp / y->t0 : 1, parts = y->t1 / in_warp;
    return parts > 1 ? parts * y->t0 * y->vec : 0;
}

/* Shared memory of the cross-thread reductions: one region each, so that one barrier a reduction is
 * enough. */
static int64_t reduction_smem(const struct kernel *k, const struct layout *y) {
    int64_t bytes = 0;
    int slots = layout_row_slots(k, y);
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        int size = reduction_bytes(k, i);
        if (v->kind == INST_SCAN && !y->rows_inner) /* the warps' totals */
            bytes = (bytes + slots * y->ex * y->ur * size + 15) / 16 * 16;
        if (v->kind == INST_SCAN && !y->rows_inner && y->look_back)
            bytes = (bytes + 2 * slots * size + 15) / 16 * 16;
        if (v->kind == INST_SCAN && y->rows_inner)
            bytes = (bytes + layout_column_slots(k, y) * size + 15) / 16 * 16;
        if (v->kind != INST_REDUCE || goes_across(v)) continue;
        if (y->rows_inner) /* of a cluster, also what this block has, and what all have */
            bytes += (layout_column_slots(k, y) * y->ex * size + 15) / 16 * 16 +
                     (y->cluster > 1 ? 2 * y->t0 * y->vec * y->ex * size : 0);
        else
            bytes += slots * y->ex * size +
                     (y->cluster > 1 ? y->cluster * y->t0 * y->ex * size + 32 : 0);
        bytes = (bytes + 15) / 16 * 16;
    }
    for (value_id v = 0; v < k->values.n; v++) { /* later, half of the block's sums of columns */
        int64_t half = (int64_t)(y->t0 / 2) * y->br * reduction_bytes(k, v);
        if (goes_across(&k->values.at[v]) && bytes < half) bytes = half;
    }
    return bytes;
}

/* Neighbours that two threads have are reduced by both, and stored by one of them. */
static bool may_overlap(const struct kernel *k, int vec) {
    int64_t lo, hi;
    ex_range(k->ex, k->bound[AXIS_X], &lo, &hi);
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->stores.at[i].mask & MASK_R) return false;
    return k->kind == KERNEL_REDUCE && k->rows_inner && lo >= vec;
}

/* One row that is scanned, and nothing else: what a last vector has too much comes behind all that
 * counts. */
static bool scans_one_row(const struct kernel *k, int vec) {
    int64_t rows = 1;
    if (k->kind != KERNEL_SCAN || k->rows_inner || kernel_size(k, AXIS_R) < vec) return false;
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE) return false;
    return !k->bound[AXIS_X] || (ex_is_const(k->ex, k->bound[AXIS_X], &rows) && rows == 1);
}

/* Rows that the vector does not divide are peeled where that leaves anything to go by vectors; of
 * loads that share vectors, which begin anywhere, the last is cut off if half of it is used, as is
 * that of a single row that is scanned. */
static const char *check_vector(const struct kernel *k, bool window, bool turn, struct layout *y,
                                struct arena *a) {
    enum axis along = y->rows_inner ? AXIS_X : AXIS_R;
    if (y->vec == 1 || ex_divides(k->ex, y->vec, k->bound[along])) return NULL;
    y->ragged = y->shift && !y->hits && may_overlap(k, y->vec);
    y->cut = window && k->kind == KERNEL_POINTWISE && !y->shift && !k->below &&
             2 * kernel_size(k, AXIS_R) >= y->vec;
    y->cut |= scans_one_row(k, y->vec);
    if (y->ragged || y->cut) return NULL;
    bool can_peel = !y->rows_inner && k->kind != KERNEL_SCAN && !k->columns;
    if (can_peel && kernel_size(k, AXIS_R) >= y->vec) y->start = kernel_row_start(k, y->vec);
    y->peel = y->start != EX_NONE;
    if (y->peel) y->head_unit = turn ? y->vec : kernel_head_unit(k, y->start, y->vec);
    if (y->peel) return NULL;
    return arena_printf(a, "vec=%d does not divide the %s length %s%s", y->vec,
                        y->rows_inner ? "column" : "row", ex_str(a, k->ex, k->bound[along]),
                        can_peel ? ", and no row is contiguous and as long" : "");
}

static const char *check_shift(const struct kernel *k, struct layout *y) {
    bool any = false;
    if (!y->shift) return NULL;
    for (value_id v = 0; v < k->values.n; v++) any |= layout_load_shifts(k, y, &k->values.at[v]);
    y->slack = y->peel ? y->vec : 0;
    return any ? NULL
               : "shift=1, but no operand is out of step with vectors that it could be read by";
}

static const char *check_split(const struct kernel *k, const struct layout *y, struct arena *a) {
    if (y->split == 1) return NULL;
    if (!reduces_rows(k) || (kernel_reads_twice(k) && !y->meets))
        return arena_printf(a, "split=%d needs a kernel that goes along its rows once", y->split);
    int64_t steps = (kernel_size(k, AXIS_R) + y->br - 1) / y->br;
    if (y->split > steps)
        return arena_printf(a, "split=%d but a row has only %lld steps of r=%d", y->split,
                            (long long)steps, y->br);
    return NULL;
}

bool layout_copies(const struct kernel *k, const struct layout *y, value_id load) {
    const struct value_node *v = &k->values.at[load];
    uint8_t mask = v->mask; /* also of what is the same for all rows, if blocks stay or meet */
    if (y->circle || (y->meets && kernel_size(k, AXIS_X) == 1)) mask |= MASK_X;
    return (y->stages > 1 || y->kept) && v->kind == INST_LOAD && mask == (MASK_X | MASK_R) &&
           !v->n_args && layout_load_is_vector(k, y, v) && dtype_bytes(v->dtype) * y->vec >= 4;
}

int64_t layout_stage_bytes(const struct kernel *k, const struct layout *y) {
    int64_t bytes = 0;
    for (value_id v = 0; v < k->values.n; v++)
        if (layout_copies(k, y, v))
            bytes +=
                (int64_t)y->threads * y->ex * y->ur * y->vec * dtype_bytes(k->values.at[v].dtype);
    return bytes;
}

bool layout_keeps_row(const struct layout *y) { return y->kept && !y->meets; }

int64_t layout_tiles_met(const struct kernel *k, const struct layout *y) {
    return tile_count(tile_count(kernel_size(k, AXIS_R), y->br), y->split);
}

/* Blocks of a row that meet have to be at work together: those that `fit`. They take their parts in
 * the order in which they begin, so that of more rows the first ones always have all their blocks.
 * As many tiles are kept as there is room for. */
static const char *check_meets(const struct kernel *k, const struct config *c, struct layout *y,
                               struct arena *a) {
    enum { MOST_KEPT = 64 };
    const struct device_limits *d = k->limits;
    int64_t fit = at_least_1(c->knob[KNOB_fit]), nr;
    if (!y->meets) return NULL;
    if (d->kind == DEVICE_CPU || k->kind != KERNEL_REDUCE || k->rows_inner || k->columns ||
        !kernel_reads_twice(k) || k->landing || y->bx > 1)
        return "meet=1 needs x=1 of rows that are read twice, along memory, on a GPU";
    if (y->split == 1 || y->last_block || y->one_read || y->online || y->cluster > 1 || y->hits)
        return "meet=1 needs split > 1, and no last_block, online, cluster or keep=1";
    if (fit * y->threads > d->max_threads_unit || y->split > fit * d->units)
        return arena_printf(a, "split=%d, but %lld blocks are at work at a time", y->split,
                            (long long)fit * d->units);
    if (c->knob[KNOB_keep] != 2) return NULL;
    if (!ex_is_const(k->ex, k->bound[AXIS_R], &nr)) return "keep=2 needs rows of a known length";
    enum { RESERVED = 1 << 10 }; /* of a block, by the device */
    int64_t room = d->smem_unit / fit - RESERVED, tiles = layout_tiles_met(k, y);
    if (room > d->smem_block) room = d->smem_block;
    y->kept = 1; /* as what is copied is asked for */
    y->ring = (y->smem + 15) / 16 * 16;
    int64_t tile = layout_stage_bytes(k, y), most = tile ? (room - y->ring) / tile : 0;
    if (most > MOST_KEPT) most = MOST_KEPT;
    if (most > tiles) most = tiles;
    if (most < 1) return "keep=2, but no tile has room in shared memory, or can be copied";
    y->kept = (int)most;
    y->smem = (int)(y->ring + tile * most);
    return NULL;
}

/* A row in shared memory, a block's share of it in `kept` tiles. */
static const char *check_kept(const struct kernel *k, struct layout *y, struct arena *a) {
    int64_t nr;
    if (!kernel_reads_twice(k) || k->limits->kind == DEVICE_CPU || k->columns)
        return "keep=2 needs rows that are read twice, on a GPU, and no sums of columns";
    if (!ex_is_const(k->ex, k->bound[AXIS_R], &nr)) return "keep=2 needs rows of a known length";
    int64_t tiles = ((nr + y->br - 1) / y->br + y->cluster - 1) / y->cluster;
    if (tiles < 1 || tiles > MAX_TILES_KEPT)
        return arena_printf(a, "keep=2 with %lld tiles of r=%d; %d is the limit", (long long)tiles,
                            y->br, MAX_TILES_KEPT);
    y->kept = (int)tiles;
    y->ring = (y->smem + 15) / 16 * 16;
    int64_t bytes = y->ring + layout_stage_bytes(k, y) * tiles;
    if (bytes == y->ring) return "keep=2, but no load can be copied by vectors";
    if (bytes > k->limits->smem_block)
        return arena_printf(a, "needs %lld bytes of shared memory", (long long)bytes);
    y->smem = (int)bytes;
    return NULL;
}

bool layout_load_waits(const struct kernel *k, value_id load) {
    bool behind[MAX_VALUES_SCANNED] = {false}, from[MAX_VALUES_SCANNED] = {false};
    if (k->values.n > MAX_VALUES_SCANNED) return true;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        behind[v] = x->kind == INST_SCAN, from[v] = v == load;
        for (int i = 0; i < x->n_args && x->kind != INST_SCAN; i++)
            behind[v] |= behind[x->args[i]], from[v] |= from[x->args[i]];
        for (int i = 0; i < x->n_args && behind[v] && x->kind != INST_SCAN; i++)
            if (from[x->args[i]]) return true;
    }
    return false;
}

int64_t layout_waiting_bytes(const struct kernel *k, const struct layout *y, value_id v) {
    enum { WORD = 4 };
    const struct value_node *x = &k->values.at[v];
    int each = 0, one = dtype_bytes(x->dtype); /* of a thread's vector */
    if (x->kind == INST_SCAN) each = reduction_bytes(k, v) * y->vec;
    if (x->kind == INST_LOAD && x->mask & MASK_R && layout_load_waits(k, v))
        each = (layout_load_is_vector(k, y, x) || one > WORD ? one : WORD) * y->vec;
    if (each && each < WORD) each = WORD;
    return ((int64_t)y->threads * y->ex * y->ur * each + 15) / 16 * 16;
}

static const char *check_waiting(const struct kernel *k, int stages, struct layout *y,
                                 struct arena *a) {
    int64_t blocks = (y->circle + k->limits->units - 1) / k->limits->units;
    y->waits = true;
    y->held_from = (y->smem + 15) / 16 * 16;
    int64_t bytes = y->held_from;
    for (value_id v = 0; v < k->values.n; v++) bytes += layout_waiting_bytes(k, y, v);
    y->ring = (int)bytes;
    if (stages > 2) y->stages = stages;
    if (stages > 2 && !layout_stage_bytes(k, y))
        return arena_printf(a, "stages=%d, but no load can be copied by vectors", stages);
    if (stages > 2) bytes += layout_stage_bytes(k, y) * (stages - 1);
    if (bytes > k->limits->smem_block || blocks * (bytes + SMEM_RESERVED) > k->limits->smem_unit)
        return arena_printf(a, "needs %lld bytes of shared memory", (long long)bytes);
    y->smem = (int)bytes;
    return NULL;
}

static const char *check_stages(const struct kernel *k, int stages, struct layout *y,
                                struct arena *a) {
    if (stages < 2) return NULL;
    if (y->circle && stages <= MAX_STAGES) return check_waiting(k, stages, y, a);
    if (!y->blocks || k->limits->kind == DEVICE_CPU)
        return arena_printf(a, "stages=%d needs blocks that go over many rows, on a GPU", stages);
    if (stages > MAX_STAGES)
        return arena_printf(a, "stages=%d; %d is the limit", stages, MAX_STAGES);
    y->stages = stages;
    y->ring = (y->smem + 15) / 16 * 16;
    int64_t bytes = layout_stage_bytes(k, y);
    if (!bytes) return arena_printf(a, "stages=%d, but no load can be copied by vectors", stages);
    if (y->ring + bytes * (stages - 1) > k->limits->smem_block)
        return arena_printf(a, "needs %lld bytes of shared memory",
                            (long long)(y->ring + bytes * (stages - 1)));
    y->smem = (int)(y->ring + bytes * (stages - 1));
    return NULL;
}

/* Does nothing stand between the load and its index but places that it may not have? */
static bool is_placed(const struct kernel *k, const struct value_node *v) {
    return !v->n_args ||
           (v->guarded && v->n_args == 1 && k->values.at[v->args[0]].kind == INST_INDEX);
}

bool layout_turns(const struct kernel *k, const struct layout *y, value_id load) {
    const struct value_node *v = &k->values.at[load];
    bool gpu = k->limits->kind == DEVICE_CUDA;
    bool across = y->turn && v->kind == INST_LOAD && v->mask == (MASK_X | MASK_R) &&
                  is_placed(k, v) && load_usual_stride(k, v, AXIS_X) == 1 &&
                  load_stride(k, v, AXIS_R) != 1;
    if (gpu || !across) return across;
    return !v->n_args && dtype_takes_vectors(v->dtype) && index_stride(k, v->index, AXIS_X) == 1 &&
           index_stride(k, v->index, AXIS_R) > 1; /* as k_turn has it */
}

bool layout_turns_pairs(const struct kernel *k, const struct layout *y, value_id load) {
    return k->limits->kind == DEVICE_CUDA && y->vec % 2 == 0 &&
           dtype_bytes(k->values.at[load].dtype) == 2 && layout_turns(k, y, load) &&
           layout_turn_vector(k, y, load) == 2;
}

/* Elements lie there as they do in registers: in words, or two in each. */
int64_t layout_turn_bytes(const struct kernel *k, const struct layout *y, value_id load) {
    int word = dtype_bytes(k->values.at[load].dtype) > 4 ? 8 : 4;
    return (int64_t)layout_turn_columns(y) * layout_turn_pitch(y) * word /
           (layout_turns_pairs(k, y, load) ? 2 : 1);
}

int layout_turn_columns(const struct layout *y) { return y->br + (y->peel ? y->vec : 0); }

int layout_turn_pitch(const struct layout *y) { return y->bx + (y->peel ? 1 : 0); }

int layout_turn_vector(const struct kernel *k, const struct layout *y, value_id load) {
    const struct value_node *v = &k->values.at[load];
    int many = 4 / dtype_bytes(v->dtype), each = y->ex * y->ur * y->vec;
    if (v->dtype == DT_BOOL || v->guarded) return 1;
    while (many > 1 && (y->bx % many || each % many || !index_is_vector(k, v->index, AXIS_X, many)))
        many /= 2;
    return many > 1 ? many : 1;
}

static const char *check_turn(const struct kernel *k, bool turn, struct layout *y,
                              struct arena *a) {
    int64_t bytes = 0;
    if (!turn) return NULL;
    if (k->kind != KERNEL_POINTWISE || y->shift)
        return "turn=1 needs a pointwise kernel, with whole vectors";
    y->turn = true;
    for (value_id v = 0; v < k->values.n; v++)
        if (layout_turns(k, y, v)) bytes += (layout_turn_bytes(k, y, v) + 15) / 16 * 16;
    if (!bytes) return "turn=1, but no operand lies across";
    if (k->limits->kind == DEVICE_CPU)
        return bytes <= MAX_STACK / 4
                   ? NULL
                   : arena_printf(a, "needs %lld bytes of stack; %d is the limit", (long long)bytes,
                                  MAX_STACK / 4);
    if (bytes > k->limits->smem_block)
        return arena_printf(a, "needs %lld bytes of shared memory", (long long)bytes);
    y->smem = (int)bytes;
    return NULL;
}

static const char *check_window(const struct kernel *k, bool window, struct layout *y) {
    if (!window) return NULL;
    if (k->kind != KERNEL_POINTWISE || k->limits->kind == DEVICE_CPU || y->peel || y->turn)
        return "window=1 needs a pointwise kernel on a GPU, with turn=0 and shift=0";
    y->windows = windows_find(k, y);
    return y->windows ? NULL : "window=1, but no loads share vectors";
}

/* By all points, and of a buffer that has an element for each, or for two. */
bool kernel_loads_once(const struct kernel *k, value_id load) {
    int64_t rows = 1;
    const struct value_node *v = &k->values.at[load];
    bool one_row = ex_is_const(k->ex, k->bound[AXIS_X], &rows) && rows == 1;
    double points = (double)kernel_rows(k) * (double)kernel_size(k, AXIS_R);
    bool enough = 2.0 * (double)buffer_bytes(k->schedule->loops, v->buffer) >=
                  points * dtype_bytes(k->schedule->loops->buffers.at[v->buffer].meta.dtype);
    return enough && (v->mask | (one_row ? MASK_X : 0)) == (MASK_X | MASK_R);
}

/* Loads that share vectors take no such hints. */
static const char *check_l2(const struct kernel *k, const struct layout *y, struct arena *a) {
    if (!y->leave_l2 && !y->stay_l2) return NULL;
    if (y->leave_l2 && y->stay_l2) return "leave_l2=1 and stay_l2=1 are opposites";
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_LOAD && kernel_loads_once(k, v) && !layout_tap(y, v))
            return NULL;
    return arena_printf(a, "%s=1, but nothing is loaded once",
                        knob_name(y->leave_l2 ? KNOB_leave_l2 : KNOB_stay_l2));
}

int layout_cluster(const struct layout *y) { return y->apart ? 1 : y->cluster; }

bool kernel_only_columns(const struct kernel *k) {
    return k->columns && k->kind == KERNEL_REDUCE && !reduces_rows(k);
}

int64_t layout_units(const struct kernel *k, const struct layout *y) {
    int cluster = layout_cluster(y);
    return k->limits->units * (cluster >= 8 ? 88 : cluster >= 4 ? 94 : 100) / 100;
}

/* Blocks that go through a scan's tiles in rounds: all of them have to be on the device together,
 * as each waits for the totals of the others. */
static const char *check_circle(const struct kernel *k, int blocks, struct layout *y,
                                struct arena *a) {
    enum { LEAST_REGISTERS = 32, MOST_LOOKS = 16 };
    const struct device_limits *d = k->limits;
    if (!y->look_back || k->rows_inner || d->kind == DEVICE_CPU)
        return arena_printf(a, "blocks=%d of a scan need look_back=1, along rows on a GPU", blocks);
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (!(k->stores.at[i].mask & MASK_R)) return "blocks=1, but a row has a result of its own";
    if (blocks > d->max_blocks_unit || (int64_t)blocks * y->threads > d->max_threads_unit ||
        (int64_t)blocks * y->threads * LEAST_REGISTERS > d->regs_unit ||
        (int64_t)blocks * (y->smem + SMEM_RESERVED) > d->smem_unit)
        return arena_printf(a, "blocks=%d of %d threads are more than a multiprocessor holds",
                            blocks, y->threads);
    int64_t most = (int64_t)blocks * d->units, all = tile_count(kernel_size(k, AXIS_X), y->bx) *
                                                     tile_count(kernel_size(k, AXIS_R), y->br);
    y->circle = (int)(all < most ? all : most);
    if (y->circle < 1) y->circle = 1;
    return y->circle > MOST_LOOKS * y->t1
               ? arena_printf(a, "%d totals to look at, by %d threads of a row", y->circle, y->t1)
               : NULL;
}

int64_t layout_circle_words(const struct kernel *k, const struct layout *y, value_id scan) {
    return (int64_t)ROUNDS_KEPT * y->bx * reduction_words(k, scan) * y->circle;
}

/* Persistent blocks: each thread has the same columns in all rows. Who sums them up has such
 * blocks; others may, for the sake of copying rows ahead. */
static const char *check_blocks(const struct kernel *k, const struct config *c, struct layout *y,
                                struct arena *a) {
    int blocks = c->knob[KNOB_blocks];
    if (!k->columns && !blocks) return NULL;
    if (k->kind == KERNEL_SCAN && blocks > 0 && !k->columns) return check_circle(k, blocks, y, a);
    if (k->columns && y->look_back) return "sums of columns are of whole rows";
    if (!k->columns && (k->kind != KERNEL_REDUCE || k->rows_inner || y->peel || y->online ||
                        k->limits->kind == DEVICE_CPU))
        return arena_printf(a,
                            "blocks=%d needs sums of columns or, on a GPU, rows of whole vectors "
                            "that are reduced",
                            blocks);
    if (blocks < 1 || blocks > MAX_BLOCKS)
        return arena_printf(a, "blocks=%d; 1 to %d go over many rows", blocks, MAX_BLOCKS);
    int64_t most = blocks * layout_units(k, y) / y->cluster / kernel_batches(k), tile = y->bx,
            all = (kernel_size(k, AXIS_X) + tile - 1) / tile;
    if (most < 1) most = 1;
    y->blocks = (int)(all < most ? all : most);
    y->whole_columns = kernel_has_batches(k) && y->blocks == 1;
    if (y->split > 1) return "persistent blocks have whole rows";
    if (k->limits->kind == DEVICE_CPU) return NULL;
    int64_t own = (kernel_size(k, AXIS_R) + y->cluster - 1) / y->cluster;
    if (y->br < own)
        return arena_printf(a, "persistent blocks have a row in registers: r=%d must be all %lld",
                            y->br, (long long)own);
    return y->one_read || k->kind == KERNEL_SCAN ? NULL : "persistent blocks have keep=1";
}

enum { MAX_APART = 64 }; /* blocks of a row that need no cluster */

static const char *check_cluster(const struct kernel *k, const struct layout *y, struct arena *a) {
    if (y->cluster == 1) return NULL;
    int most = y->apart ? MAX_APART : k->limits->max_cluster;
    if (!is_power_of_two(y->cluster) || y->cluster > most)
        return arena_printf(a, "cluster=%d; %s has 1 to %d", y->cluster, k->limits->arch, most);
    if (!(reduces_rows(k) || y->apart) || y->split > 1)
        return arena_printf(a, "cluster=%d needs a reduction, unsplit", y->cluster);
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE && reduction_bytes(k, v) < 4)
            return arena_printf(a, "cluster=%d needs reductions of 4 bytes", y->cluster);
    if (y->br * (int64_t)(y->cluster - 1) >= kernel_size(k, AXIS_R))
        return arena_printf(a, "cluster=%d leaves a block without columns", y->cluster);
    return NULL;
}

/* On a CPU: a tile of rows stays in a core's caches, so that it is no tile where vectors go along a
 * row. */
static const char *check_kept_tile(const struct kernel *k, const struct layout *y,
                                   struct arena *a) {
    enum { MOST = 512 << 10 };
    int64_t bytes = kernel_size(k, AXIS_R) * y->bx * 4;
    if (!y->rows_inner) return NULL;
    if (k->landing) return "keep=1, but sources that land on a row are of many";
    return bytes <= MOST ? NULL
                         : arena_printf(a, "keep=1 would keep %lld bytes; %d is the limit",
                                        (long long)bytes, MOST);
}

static const char *check_keep(const struct kernel *k, const struct layout *y, bool keep,
                              struct arena *a) {
    if (!keep) return NULL;
    if (k->kind != KERNEL_REDUCE || (!kernel_reads_twice(k) && !k->columns))
        return "keep=1 but nothing is read twice";
    if (k->limits->kind == DEVICE_CPU) return check_kept_tile(k, y, a);
    if (k->columns) return NULL;
    int64_t need = (layout_whole_columns(k, y->peel, y->vec) + y->cluster - 1) / y->cluster;
    if (y->br < need)
        return arena_printf(a, "keep=1 needs r >= %lld, a block's share of the row",
                            (long long)need);
    int words = layout_load_words(k, y);
    if (words > MAX_REGISTERS_KEPT)
        return arena_printf(a, "keep=1 would hold %d registers a thread; %d is the limit", words,
                            MAX_REGISTERS_KEPT);
    return NULL;
}

bool scan_carries(const struct kernel *k, value_id v) {
    return k->kind == KERNEL_SCAN && k->values.at[v].kind == INST_REDUCE && !k->whole_rows;
}

/* Elements of a tile wait in registers for what stands before them. */
static const char *check_scan(const struct kernel *k, const struct layout *y, struct arena *a) {
    int words = layout_load_words(k, y) + layout_scan_words(k, y);
    int64_t lo, most = 1;
    if (k->limits->kind == DEVICE_CPU) return NULL;
    if (k->bound[AXIS_R]) ex_range(k->ex, k->bound[AXIS_R], &lo, &most);
    if (y->br < most && k->whole_rows)
        return arena_printf(a, "what a row of %lld comes to is wanted along it: r=%d",
                            (long long)most, y->br);
    if (words > MAX_REGISTERS_KEPT)
        return arena_printf(a, "a scan would hold %d registers a thread; %d is the limit", words,
                            MAX_REGISTERS_KEPT);
    return NULL;
}

/* Compilers give a thread no more registers than leave room for so many blocks. */
static const char *check_fit(const struct kernel *k, int fit, struct layout *y, struct arena *a) {
    enum { LEAST_REGISTERS = 32 };
    const struct device_limits *d = k->limits;
    if (!fit) return NULL;
    if (d->kind == DEVICE_CPU || y->blocks || y->circle)
        return arena_printf(a, "fit=%d has a meaning for blocks on a GPU that are not persistent",
                            fit);
    if (fit > d->max_blocks_unit || (int64_t)fit * y->threads > d->max_threads_unit ||
        (int64_t)fit * y->threads * LEAST_REGISTERS > d->regs_unit)
        return arena_printf(a, "fit=%d blocks of %d threads are more than a multiprocessor holds",
                            fit, y->threads);
    y->fit = fit;
    return NULL;
}

static bool loads_along(const struct kernel *k, enum axis x) {
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *n = &k->values.at[v];
        if (n->kind == INST_LOAD && !n->n_args && index_stride(k, n->index, x) == 1) return true;
    }
    return false;
}

/* The next row comes while this one, which is in the caches by then, is read again; what is read
 * once comes a page ahead. */
static const char *check_ahead(const struct kernel *k, const struct layout *y, struct arena *a) {
    if (!y->ahead) return NULL;
    bool again = kernel_reads_twice(k);
    if (k->limits->kind != DEVICE_CPU || k->kind == KERNEL_MATMUL || y->turn ||
        (y->rows_inner && (k->kind == KERNEL_SCAN || again)) ||
        (!again && !loads_along(k, y->rows_inner ? AXIS_X : AXIS_R)))
        return arena_printf(a, "ahead=1 needs rows that are read as memory has them, on a CPU");
    return NULL;
}

int layout_listed(const struct layout *y) { return y->threads * (y->hits + 1); }

/* Sources, and rows, have numbers of 31 bits. */
static const char *check_sort(const struct kernel *k, const struct layout *y, struct arena *a) {
    int64_t nr, rows, most = INT32_MAX;
    int sort = y->own ? 2 : y->turns ? 3 : 1;
    if (!y->sorted) return NULL;
    if (!y->hits || y->split > 1 || k->limits->kind == DEVICE_CPU)
        return arena_printf(a, "sort=%d needs hits, and split=1, on a GPU", sort);
    if (!ex_is_const(k->ex, k->bound[AXIS_R], &nr) || !ex_is_const(k->ex, k->landing->rows, &rows))
        return arena_printf(a, "sort=%d needs sources and rows of known numbers", sort);
    if (nr >= most || rows >= most)
        return arena_printf(a, "sort=%d of %lld sources to %lld rows; 2^31 - 2 is the limit", sort,
                            (long long)nr, (long long)rows);
    return NULL;
}

/* A thread's vector is of one row, and so are its elements of other spans. */
static const char *check_own(const struct kernel *k, const struct layout *y, struct arena *a) {
    int64_t nx, inner;
    if (!y->own) return NULL;
    if (!ex_is_const(k->ex, k->bound[AXIS_X], &nx) ||
        !ex_is_const(k->ex, k->landing->inner, &inner) || nx % layout_span(k))
        return "sort=2 needs rows of x that begin again in known places";
    if (inner % y->vec)
        return arena_printf(a, "sort=2: vec=%d does not divide the %lld elements of a row", y->vec,
                            (long long)inner);
    return y->ex <= layout_spans(k) ? NULL
                                    : arena_printf(a, "rows=%d, but rows begin %lld times", y->ex,
                                                   (long long)layout_spans(k));
}

/* A block's results, of one tile after the other, then the list and how many a warp has found. */
static const char *check_hits(const struct kernel *k, struct layout *y, struct arena *a) {
    if (!y->hits) return NULL;
    if (!k->landing)
        return arena_printf(a, "hits=%d needs reductions of what lands on a row each", y->hits);
    if (y->one_read || y->cluster > 1 || y->last_block || y->online)
        return arena_printf(a, "hits=%d has no keep, cluster, last_block or online", y->hits);
    if (k->limits->kind == DEVICE_CPU)
        return y->hits == 1 && y->split == 1 ? NULL : "hits=1, and split=1, on the CPU";
    if (y->hits > MAX_TESTED)
        return arena_printf(a, "hits=%d; %d is the limit", y->hits, MAX_TESTED);
    if (y->t1 > 1)
        return arena_printf(a, "hits=%d has the threads of a block along x, all %d", y->hits,
                            y->threads);
    if (y->own) return NULL; /* all is in registers */
    int64_t sums = 0, lists = layout_listed(y) * (k->wide_index ? 12 : 8) + layout_warps(k, y) * 4;
    if (y->turns) lists = 0;
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE)
            sums += (int64_t)y->held * y->bx * reduction_bytes(k, v);
    sums = (sums + 15) / 16 * 16;
    if (sums + lists > k->limits->smem_block)
        return arena_printf(a, "needs %lld bytes of shared memory", (long long)(sums + lists));
    y->ring = (int)sums;
    y->smem = (int)(sums + lists);
    return NULL;
}

/* A block is a warp, each of whose threads has a source; its rows are a digit of where these
 * land. */
static const char *check_turns(const struct kernel *k, const struct layout *y, struct arena *a) {
    int64_t inner, each = (int64_t)y->bx * y->held;
    if (!y->turns) return NULL;
    if (k->landing->wraps || !ex_is_const(k->ex, k->landing->inner, &inner) || inner != 1 ||
        !ex_is_const(k->ex, k->bound[AXIS_X], NULL))
        return "sort=3 needs rows of an element each, of a known number";
    if (y->threads != k->limits->warp || y->vec > 1 || !is_power_of_two((int)each))
        return "sort=3 needs warps=1, vec=1 and x a power of two";
    if ((y->hits & (y->hits - 1)) || layout_bucket_threads(k, y) > k->limits->max_threads_block ||
        layout_bucket_bytes(k, y) > k->limits->smem_block)
        return arena_printf(a, "sort=3 has no room for blocks of hits=%d times 256 threads",
                            y->hits);
    return layout_buckets(k, y) <= MOST_BUCKETS
               ? NULL
               : arena_printf(a, "sort=3 by %lld blocks; %d is the limit",
                              (long long)layout_buckets(k, y), MOST_BUCKETS);
}

static const char *check_grid(int64_t blocks, struct arena *a) {
    return blocks > INT32_MAX
               ? arena_printf(a, "needs %lld blocks; 2^31 - 1 is the limit", (long long)blocks)
               : NULL;
}

int64_t layout_totals(const struct kernel *k, const struct layout *y) {
    int64_t all = tile_count(kernel_size(k, AXIS_R), y->br);
    return tile_count(kernel_size(k, AXIS_X), y->bx) * (all + all / LOOK_BACK_GROUP);
}

int64_t layout_flag_bytes(const struct layout *y) { return y->rows_inner ? 4 : 8 * y->bx; }

static const char *check_look_back(const struct kernel *k, const struct layout *y,
                                   struct arena *a) {
    if (!y->look_back) return NULL;
    if (k->kind != KERNEL_SCAN || k->limits->kind == DEVICE_CPU || k->levels > 1)
        return "look_back=1 needs scans on a GPU, none of which stands on another";
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE) return "look_back=1, but a row is reduced, too";
    if (y->ex > 1) return "look_back=1 needs rows=1";
    /* as many flags, and as many bytes of them, are numbers */
    return check_grid(layout_totals(k, y) * layout_flag_bytes(y), a);
}

static const char *gpu_layout(const struct kernel *k, const struct config *c, struct layout *y,
                              struct arena *a) {
    int x = at_least_1(c->knob[KNOB_x]), r = at_least_1(c->knob[KNOB_r]),
        warps = c->knob[KNOB_warps];
    int most = k->limits->max_threads_block / k->limits->warp;
    if (warps < 1 || warps > most)
        return arena_printf(a, "warps=%d; a block has 1 to %d", warps, most);
    y->threads = warps * k->limits->warp;
    if (y->ex > MAX_ELEMENTS) return arena_printf(a, "%d rows a thread", y->ex);
    int vx = y->rows_inner ? y->vec : 1, vr = y->rows_inner ? 1 : y->vec;
    if (y->hits && !y->own) { /* a thread's rows are one tile after the other */
        if (x % y->ex) return arena_printf(a, "x=%d is no multiple of rows=%d", x, y->ex);
        y->held = y->ex, x /= y->held, y->ex = 1;
    }
    if (x % (y->ex * vx))
        return arena_printf(a, "x=%d is no multiple of rows*vec=%d", x, y->ex * vx);
    y->t0 = x / (y->ex * vx);
    if (y->t0 > y->threads || y->threads % y->t0)
        return arena_printf(a, "x=%d: %d thread rows do not divide %d threads", x, y->t0,
                            y->threads);
    y->t1 = y->threads / y->t0;
    if (!is_power_of_two(y->t0) || !is_power_of_two(y->t1))
        return arena_printf(a, "%d x %d threads: powers of two are needed", y->t0, y->t1);
    if (r % (y->t1 * vr))
        return arena_printf(a, "r=%d is no multiple of %d threads x %d elements", r, y->t1, vr);
    y->ur = r / (y->t1 * vr);
    y->bx = x;
    y->br = r;
    if ((int64_t)y->ur * y->ex * y->vec > MAX_ELEMENTS)
        return arena_printf(a, "%lld elements a thread; %d is the limit",
                            (long long)y->ur * y->ex * y->vec, MAX_ELEMENTS);
    int unit = y->peel ? kernel_common_unit(k, y) : 0;
    y->one_head = unit > 0;
    if (unit) y->head_unit = unit;
    int64_t smem = reduction_smem(k, y);
    if (smem > k->limits->smem_block)
        return arena_printf(a, "needs %lld bytes of shared memory", (long long)smem);
    y->smem = (int)smem;
    y->grid_r = k->kind == KERNEL_POINTWISE;
    return check_grid(tile_count(kernel_size(k, AXIS_X), x) *
                          (y->grid_r ? layout_column_tiles(k, y) : (int64_t)y->split * y->cluster),
                      a);
}

/* On the CPU a task is x rows (or, pointwise, x rows times r columns); vec lanes run in one SIMD
 * loop. */
bool layout_streams(const struct kernel *k, const struct layout *y, const struct store_node *s) {
    return y->streaming && !kernel_stores_in_place(k, s->buffer);
}

static const char *check_streaming(const struct kernel *k, const struct layout *y) {
    bool any = !y->streaming;
    for (uint32_t i = 0; i < k->stores.n; i++) any |= layout_streams(k, y, &k->stores.at[i]);
    return any ? NULL : "nt=1 needs a store to where nothing was read";
}

static const char *cpu_layout(const struct kernel *k, const struct config *c, struct layout *y,
                              struct arena *a) {
    y->threads = y->t0 = y->t1 = y->ur = 1;
    y->bx = at_least_1(c->knob[KNOB_x]);
    int64_t nr = kernel_size(k, AXIS_R);
    y->br = c->knob[KNOB_r] ? c->knob[KNOB_r] : nr < INT32_MAX ? (int)nr : INT32_MAX;
    y->grid_r = k->kind == KERNEL_POINTWISE;
    if (c->knob[KNOB_warps]) return "warps has no meaning on the CPU";
    if (y->rows_inner && y->bx % y->vec)
        return arena_printf(a, "x=%d is no multiple of vec=%d", y->bx, y->vec);
    if (y->ex != 1) return "rows has no meaning on the CPU";
    if (y->rows_inner && y->bx > MAX_STACK / 256) /* some arrays of x numbers each */
        return arena_printf(a, "x=%d rows at a time; %d is the limit", y->bx, MAX_STACK / 256);
    if (!y->br) y->br = 1; /* an empty row */
    return check_streaming(k, y);
}

int layout_packed_depth(int depth) {
    enum { LONG = DEPTH_AT_ONCE * DEPTH_AT_ONCE }; /* of which a tile's sums take as many blocks */
    return depth < LONG ? depth : LONG;
}

bool layout_packs_once(const struct kernel *k, int depth) {
    int64_t shortest, longest;
    ex_range(k->ex, k->bound[AXIS_R], &shortest, &longest);
    return longest <= depth;
}

static int dot_bytes(const struct kernel *k) {
    return dtype_bytes(dtype_opmath(k->values.at[k->dot].dtype));
}

/* As wide as the machine has them, or as divide the columns. */
int layout_block_lanes(const struct kernel *k, int tn) {
    int lanes = k->limits->simd_bytes / dot_bytes(k);
    if (lanes < 1) lanes = 1;
    while (tn % lanes) lanes /= 2;
    return lanes;
}

int64_t layout_block_registers(const struct kernel *k, int tm, int tn) {
    int64_t vectors = tn / layout_block_lanes(k, tn);
    return (tm + 1) * vectors + 1;
}

int cpu_vector_registers(const struct device_limits *d) {
    enum { FEWEST = 16 };
    return d->simd_registers ? d->simd_registers : FEWEST;
}

/* Panels, sums and what is turned, with gaps (emit/c_matmul.c); of more than a limit, about. */
static int64_t panel_bytes(const struct kernel *k, int64_t m, int64_t n, int64_t depth, int tm,
                           int tn) {
    enum { GAP = 16, MUCH = 1 << 20 };
    if (m > MUCH || n > MUCH) return (m > n ? m : n) * dot_bytes(k);
    int64_t sums = layout_packs_once(k, (int)depth) ? (int64_t)tm * tn : m * n;
    return ((m + tn) * (depth + GAP) + n * depth + tn * GAP + sums) * dot_bytes(k);
}

static const char *cpu_matmul_layout(const struct kernel *k, const struct config *c,
                                     struct layout *y, struct arena *a) {
    enum { MOST_VECTORS = 128 }; /* that a text names */
    int tm = c->knob[KNOB_tm], tn = c->knob[KNOB_tn], depth = layout_packed_depth(c->knob[KNOB_k]);
    if (c->knob[KNOB_warps]) return "warps has no meaning on the CPU";
    y->threads = 1;
    if (c->knob[KNOB_flat]) return flat_layout(k, c, MAX_STACK, y, a);
    int64_t stack = panel_bytes(k, c->knob[KNOB_m], c->knob[KNOB_n], depth, tm, tn),
            registers = layout_block_registers(k, tm, tn);
    if (stack > MAX_STACK)
        return arena_printf(a, "needs %lld bytes of stack; %d is the limit", (long long)stack,
                            MAX_STACK);
    if (registers > MOST_VECTORS)
        return arena_printf(a, "needs %lld registers for tm=%d tn=%d; %d is the limit",
                            (long long)registers, tm, tn, MOST_VECTORS);
    y->ur = depth;
    return NULL;
}

int layout_unit(int elements) { return elements % 4 == 0 ? 4 : elements % 2 == 0 ? 2 : 1; }

/* Blocks that have parts of the depth wait for each other: those of a tile, which begin one after
 * the other, find room at a time. What each leaves is f32. */
static const char *check_depth_parts(const struct kernel *k, int depth, const struct layout *y,
                                     struct arena *a) {
    static const enum axis axes[] = {AXIS_Z, AXIS_M, AXIS_N, AXIS_R};
    if (y->split == 1) return NULL;
    if (k->limits->kind == DEVICE_CPU) return "split is no knob of products on the CPU";
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        int64_t n;
        if (k->axis[axes[i]] && !ex_is_const(k->ex, k->bound[axes[i]], &n))
            return "parts of the depth need sizes that are known";
    }
    if (k->edges.n) return "parts of the depth need tiles that have all steps";
    if (dtype_opmath(k->values.at[k->dot].dtype) != DT_F32) return "parts of the depth are f32";
    int64_t steps = tile_count(kernel_size(k, AXIS_R), depth), units = k->limits->units;
    int64_t most = steps < units ? steps : units;
    return y->split <= most ? NULL
                            : arena_printf(a, "split=%d of %lld steps on %lld multiprocessors",
                                           y->split, (long long)steps, (long long)units);
}

enum { FEWEST_PANELS = 2, MOST_PANELS = 4, MOST_AHEAD = 32 }; /* panels ahead, and their depth */

bool factor_is_copied(const struct kernel *k, value_id factor) {
    const struct value_node *x = &k->values.at[factor];
    if (x->kind != INST_LOAD || x->n_args || k->limits->sm < 80) return false;
    return dtype_bytes(x->dtype) == 4 &&
           k->schedule->loops->buffers.at[x->buffer].meta.dtype == x->dtype &&
           dtype_opmath(k->values.at[k->dot].dtype) == x->dtype;
}

static const char *check_panels(const struct kernel *k, int depth, const struct layout *y,
                                struct arena *a) {
    if (!y->stages) return NULL;
    if (y->stages < FEWEST_PANELS || y->stages > MOST_PANELS || depth > MOST_AHEAD || depth % 8)
        return arena_printf(a, "stages=%d of k=%d: %d to %d, of eights to %d, are panels ahead",
                            y->stages, depth, FEWEST_PANELS, MOST_PANELS, MOST_AHEAD);
    int64_t deep;
    if (!ex_is_const(k->ex, k->bound[AXIS_R], &deep) || k->edges.n ||
        tile_count(deep, depth) / y->split < y->stages)
        return "panels ahead need a depth that is known, and as many panels of each part";
    return factor_is_copied(k, k->dot_a) && factor_is_copied(k, k->dot_b)
               ? NULL
               : "panels ahead are of factors that are copied, of 4 bytes each";
}

bool is_turned(const struct layout *y, enum axis axis) {
    return y->turned & (axis == AXIS_M ? 1 : 2);
}

int64_t turned_pitch(const struct kernel *k, enum axis axis) {
    enum { LINE = 32 };
    return round_up(kernel_size(k, axis), LINE);
}

int64_t turned_bytes(const struct kernel *k, enum axis axis) {
    const struct value_node *x = &k->values.at[axis == AXIS_M ? k->dot_a : k->dot_b];
    int64_t batches = x->mask & MASK_Z ? kernel_size(k, AXIS_Z) : 1;
    return batches * kernel_size(k, AXIS_R) * turned_pitch(k, axis) * 4;
}

/* A panel of a factor whose memory runs along the depth is copied element by element, which takes
 * more instructions than of one that is turned first, by quads. */
static const char *check_turned(const struct kernel *k, const struct layout *y, struct arena *a) {
    enum { QUAD = 4 };
    static const enum axis axes[] = {AXIS_M, AXIS_N};
    for (int i = 0; i < 2; i++) {
        if (!is_turned(y, axes[i])) continue;
        value_id factor = axes[i] == AXIS_M ? k->dot_a : k->dot_b;
        int64_t n;
        if (!y->stages) return "turn needs panels ahead";
        if (k->values.at[factor].guarded || load_stride(k, &k->values.at[factor], AXIS_R) != 1)
            return arena_printf(
                a, "turn=%d: the memory of that factor does not run along the depth", y->turned);
        if ((k->axis[AXIS_Z] && !ex_is_const(k->ex, k->bound[AXIS_Z], &n)) ||
            !ex_is_const(k->ex, k->bound[axes[i]], &n) || n % QUAD)
            return arena_printf(a, "turn=%d needs a size that is known, of fours", y->turned);
        if (turned_bytes(k, axes[i]) / 4 > INT32_MAX && !k->wide_index)
            return arena_printf(a, "turn=%d: the image is too large", y->turned);
    }
    return NULL;
}

int64_t layout_panels(const struct layout *y, int depth) {
    return (int64_t)(y->bx + y->br + 2 * PANEL_GAP) * depth * y->stages;
}

/* Where the blocks that registers leave room for find it, what is above a thread's sums, `bytes`,
 * is in shared memory: 128 sums of 128 threads are read and written there for nothing while another
 * block multiplies, and in local memory take a seventh of 4096^3 on an H200. That of four sums may
 * be in registers. */
static void fold_in_shared(const struct kernel *k, int depth, int64_t bytes, struct layout *y) {
    enum { FEW = 64, SMALL = 128, LARGE = 256 }; /* sums; registers of a thread */
    enum { IN_REGISTERS = 16 };                  /* bytes of one */
    struct folds f = layout_depth_folds(k, depth, y->split);
    int64_t blocks = k->limits->regs_unit / (y->threads * (y->ex * y->vec > FEW ? LARGE : SMALL));
    if (blocks < 1) blocks = 1;
    int64_t most = k->limits->smem_unit / blocks - SMEM_RESERVED,
            smem = y->smem + bytes * y->threads;
    if (most > k->limits->smem_block) most = k->limits->smem_block;
    if (smem > most) smem -= (int64_t)IN_REGISTERS * y->threads;
    if (f.levels != 1 || bytes % 16 || y->smem % 16 || smem > most) return;
    y->folded = y->smem;
    y->smem = (int)smem;
}

static const char *matmul_layout(const struct kernel *k, const struct config *c, struct layout *y,
                                 struct arena *a) {
    int m = c->knob[KNOB_m], n = c->knob[KNOB_n], depth = c->knob[KNOB_k], tm = c->knob[KNOB_tm],
        tn = c->knob[KNOB_tn];
    bool gpu = k->limits->kind == DEVICE_CUDA;
    if (c->knob[KNOB_skip]) return "skip is a knob of chained products";
    if (c->knob[KNOB_turn] && (c->knob[KNOB_mma] || !gpu))
        return "turn is a knob of products by threads, on a GPU";
    if (c->knob[KNOB_mma] != 1 && (c->knob[KNOB_fit] || (c->knob[KNOB_flat] && gpu)))
        return gpu ? "fit and flat are knobs of products with mma=1"
                   : "fit is a knob of products with mma=1";
    if (c->knob[KNOB_flat] > 1 && !gpu) return "flat=2 is a knob of products with mma=1";
    if (c->knob[KNOB_mma]) return matrix_layout(k, c, y, a);
    if (k->over) return "reductions behind a product need mma=1 or 2";
    if (k->shares) return "phases that share what they read need mma=1 or 2";
    if (c->knob[KNOB_cluster] || c->knob[KNOB_band])
        return "cluster and band are knobs of products with mma=1 or 2";
    if (c->knob[KNOB_tail]) return "tail is a knob of products with mma=1";
    if (c->knob[KNOB_make]) return "make is a knob of products with mma=1";
    if (c->knob[KNOB_pingpong]) return "pingpong is a knob of products with mma=1";
    if (m < 1 || n < 1 || depth < 1 || tm < 1 || tn < 1)
        return "a matrix product needs m, n, k, tm and tn";
    if (m % tm || n % tn)
        return arena_printf(a, "m=%d n=%d are no multiples of tm=%d tn=%d", m, n, tm, tn);
    const char *bad = check_depth_parts(k, depth, y, a);
    if (bad) return bad;
    int64_t sums = (int64_t)tm * tn, size = dtype_bytes(dtype_opmath(k->values.at[k->dot].dtype));
    if (sums > MAX_ACCUMULATORS && k->limits->kind == DEVICE_CUDA)
        return arena_printf(a, "tm*tn=%lld accumulators a thread; %d is the limit", (long long)sums,
                            MAX_ACCUMULATORS);
    y->vec = tn;
    y->ex = tm;
    y->ur = 1;
    y->bx = m;
    y->br = n;
    if (k->limits->kind == DEVICE_CPU) return cpu_matmul_layout(k, c, y, a);
    y->stages = c->knob[KNOB_stages];
    y->turned = c->knob[KNOB_turn];
    if ((bad = check_panels(k, depth, y, a)) || (bad = check_turned(k, y, a))) return bad;
    int64_t threads = (int64_t)(m / tm) * (n / tn),
            smem = y->stages ? layout_panels(y, depth) : ((int64_t)m + n) * depth * 2;
    if ((int64_t)c->knob[KNOB_warps] * k->limits->warp != threads)
        return arena_printf(a, "m/tm * n/tn = %lld threads, but warps=%d", (long long)threads,
                            c->knob[KNOB_warps]);
    if (threads > k->limits->max_threads_block)
        return arena_printf(a, "%lld threads a block; %d is the limit", (long long)threads,
                            k->limits->max_threads_block);
    if (smem > k->limits->smem_block / size)
        return arena_printf(a, "needs %lld numbers of shared memory; %lld is the limit",
                            (long long)smem, (long long)(k->limits->smem_block / size));
    y->threads = (int)threads;
    y->smem = (int)(smem * size);
    if (y->stages) fold_in_shared(k, depth, sums * size, y);
    return check_grid(kernel_size(k, AXIS_Z) * tile_count(kernel_size(k, AXIS_M), m) *
                          tile_count(kernel_size(k, AXIS_N), n) * y->split,
                      a);
}

/* Whether the numbers may stand in a config of such a kernel, whatever they would make of it. */
static const char *check_knobs(const struct config *c, enum kernel_kind kind, struct arena *a) {
    bool dot = kind == KERNEL_MATMUL || kind == KERNEL_CHAINED;
    static const enum knob switches[] = {
        KNOB_nt,         KNOB_skip_l1, KNOB_leave_l2,  KNOB_stay_l2, KNOB_online,
        KNOB_last_block, KNOB_window,  KNOB_look_back, KNOB_ahead,   KNOB_shift,
        KNOB_pingpong,   KNOB_skip,    KNOB_meet};
    static const enum knob dot_only[] = {KNOB_m,    KNOB_n,        KNOB_k,    KNOB_tm,   KNOB_tn,
                                         KNOB_mma,  KNOB_pairs,    KNOB_band, KNOB_tail, KNOB_make,
                                         KNOB_flat, KNOB_pingpong, KNOB_skip};
    static const enum knob row_only[] = {
        KNOB_x,         KNOB_r,     KNOB_rows,  KNOB_keep, KNOB_vec,  KNOB_blocks, KNOB_window,
        KNOB_look_back, KNOB_ahead, KNOB_shift, KNOB_hits, KNOB_sort, KNOB_meet};
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (c->knob[switches[i]] > 1)
            return arena_printf(a, "%s is 0 or 1", knob_name(switches[i]));
    if (c->knob[KNOB_turn] > 1 && kind != KERNEL_MATMUL) return "turn is 0 or 1";
    if (c->knob[KNOB_turn] > 3) return "turn is 0, 1, 2 or 3";
    if (c->knob[KNOB_turn] && kind == KERNEL_CHAINED) return "turn is no knob of chained products";
    if (c->knob[KNOB_keep] > 2) return "keep is 0, 1 or 2";
    if (c->knob[KNOB_flat] > 2) return "flat is 0, 1 or 2";
    if (c->knob[KNOB_sort] > 3) return "sort is 0, 1, 2 or 3";
    if (c->knob[KNOB_pairs] > 2) return "pairs is 0, 1 or 2";
    if (c->knob[KNOB_mma] > 2) return "mma is 0, 1 or 2";
    for (size_t i = 0; i < sizeof dot_only / sizeof *dot_only && !dot; i++)
        if (c->knob[dot_only[i]])
            return arena_printf(a, "%s is a knob of matrix products", knob_name(dot_only[i]));
    for (size_t i = 0; i < sizeof row_only / sizeof *row_only && dot; i++)
        if (c->knob[row_only[i]] && !(row_only[i] == KNOB_blocks && kind == KERNEL_CHAINED))
            return arena_printf(a, "%s is no knob of matrix products", knob_name(row_only[i]));
    return NULL;
}

int reduction_words(const struct kernel *k, value_id v) { return (reduction_bytes(k, v) + 3) / 4; }

int kernel_part_words(const struct kernel *k) {
    int words = 0;
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE) words += reduction_words(k, v);
    return words;
}

/* Words for all parts of all rows are not more than a device has left. */
static bool has_words(const struct kernel *k, const struct layout *y) {
    enum { MOST = 64 << 20 };
    return kernel_part_words(k) * 8.0 * y->split * (double)(kernel_size(k, AXIS_X) + y->bx) <= MOST;
}

/* No config adds up more terms one after the other; chain.c sees to that. */
static const char *check_chain(const struct kernel *k, const struct config *c,
                               const struct layout *y, struct arena *a) {
    int64_t chain = layout_chain(k, c, y);
    return chain <= MOST_CHAIN
               ? NULL
               : arena_printf(a, "%lld additions one after the other; %d is the limit",
                              (long long)chain, MOST_CHAIN);
}

static const char *sort_layout(const struct kernel *k, const struct config *c, struct layout *y,
                               struct arena *a) {
    enum { THREADS = 256 };
    for (int i = 0; i < KNOB_COUNT; i++)
        if (c->knob[i] && i != KNOB_sort)
            return arena_printf(a, "%s is no knob of sorting", knob_name((enum knob)i));
    if (c->knob[KNOB_sort] != 2) return "sources are sorted by sort=2";
    y->hits = y->t0 = y->ur = y->bx = y->br = 1;
    y->threads = y->t1 = THREADS;
    return check_sort(k, y, a);
}

static const char *find_layout(const struct kernel *k, const struct config *c, struct layout *y,
                               struct arena *a) {
    *y = (struct layout){.vec = at_least_1(c->knob[KNOB_vec]),
                         .ex = at_least_1(c->knob[KNOB_rows]),
                         .split = at_least_1(c->knob[KNOB_split]),
                         .last_block = c->knob[KNOB_last_block] == 1,
                         .meets = c->knob[KNOB_meet] == 1,
                         .cluster = at_least_1(c->knob[KNOB_cluster]),
                         .rows_inner = k->rows_inner,
                         .one_read = c->knob[KNOB_keep] == 1,
                         .streaming = c->knob[KNOB_nt] == 1,
                         .skip_l1 = c->knob[KNOB_skip_l1] == 1,
                         .leave_l2 = c->knob[KNOB_leave_l2] == 1,
                         .stay_l2 = c->knob[KNOB_stay_l2] == 1,
                         .shift = c->knob[KNOB_shift] == 1,
                         .look_back = c->knob[KNOB_look_back] == 1,
                         .ahead = c->knob[KNOB_ahead] == 1,
                         .hits = c->knob[KNOB_hits],
                         .sorted = c->knob[KNOB_sort] > 0,
                         .own = c->knob[KNOB_sort] == 2,
                         .turns = c->knob[KNOB_sort] == 3};
    bool gpu = k->limits->kind == DEVICE_CUDA,
         dot = k->kind == KERNEL_MATMUL || k->kind == KERNEL_CHAINED;
    if (k->kind == KERNEL_PERSISTENT) return persistent_layout(k, c, y, a);
    if (k->kind == KERNEL_RECURRENCE) return recurrence_layout(k, c, y, a);
    if (k->kind == KERNEL_SORT) return sort_layout(k, c, y, a);
    y->apart = gpu && y->cluster > 1 && kernel_only_columns(k);
    const char *bad = check_knobs(c, k->kind, a);
    if (bad) return bad;
    if (y->last_block && (y->split == 1 || !gpu)) return "last_block=1 needs split > 1, on a GPU";
    if (c->knob[KNOB_online]) y->online = gpu ? kernel_online_level(k) : 0;
    if (c->knob[KNOB_online] && !y->online)
        return "online=1 needs sums of exp(x - max) that follow the maximum, or of "
               "(x - mean)^2 that follow the mean, on a GPU";
    static const enum knob of_caches[] = {KNOB_skip_l1, KNOB_leave_l2, KNOB_stay_l2};
    for (size_t i = 0; i < sizeof of_caches / sizeof *of_caches && (dot || !gpu); i++)
        if (c->knob[of_caches[i]] && !(c->knob[KNOB_mma] && of_caches[i] == KNOB_leave_l2))
            return arena_printf(a, "%s is a knob of pointwise and reduce kernels on a GPU",
                                knob_name(of_caches[i]));
    if (k->kind == KERNEL_CHAINED) return chained_layout(k, c, y, a);
    if (dot) return matmul_layout(k, c, y, a);
    if (!is_power_of_two(y->vec) || y->vec > (gpu ? 16 : 256))
        return arena_printf(a, "vec=%d", y->vec);
    bad = gpu ? check_vector(k, c->knob[KNOB_window], c->knob[KNOB_turn], y, a) : NULL;
    if (!bad) bad = check_shift(k, y);
    if (!bad) bad = gpu ? gpu_layout(k, c, y, a) : cpu_layout(k, c, y, a);
    y->in_words = !bad && y->last_block && !y->rows_inner && has_words(k, y);
    if (!bad) bad = check_keep(k, y, y->one_read, a);
    if (!bad) bad = check_meets(k, c, y, a);
    if (!bad && c->knob[KNOB_keep] == 2 && !y->meets) bad = check_kept(k, y, a);
    if (!bad) bad = check_turn(k, c->knob[KNOB_turn], y, a);
    if (!bad) bad = check_window(k, c->knob[KNOB_window], y);
    if (!bad) bad = check_l2(k, y, a);
    if (!bad) bad = check_ahead(k, y, a);
    if (!bad) bad = check_split(k, y, a);
    if (!bad) bad = check_hits(k, y, a);
    if (!bad) bad = check_sort(k, y, a);
    if (!bad) bad = check_own(k, y, a);
    if (!bad) bad = check_turns(k, y, a);
    if (!bad) bad = check_blocks(k, c, y, a);
    if (!bad) bad = check_fit(k, c->knob[KNOB_fit], y, a);
    if (!bad) bad = check_stages(k, c->knob[KNOB_stages], y, a);
    if (!bad) bad = check_cluster(k, y, a);
    if (!bad) bad = check_look_back(k, y, a);
    if (!bad) layout_mirror(k, y);
    if (k->kind != KERNEL_SCAN) return bad;
    y->one_read = true; /* a tile at a time */
    return bad ? bad : check_scan(k, y, a);
}

const char *kernel_layout(const struct kernel *k, const struct config *c, struct layout *y,
                          struct arena *a) {
    const char *bad = find_layout(k, c, y, a);
    return bad ? bad : check_chain(k, c, y, a);
}
