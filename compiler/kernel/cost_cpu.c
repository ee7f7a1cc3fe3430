/* cost_cpu.c: what a config takes on a CPU, about. */
#include <math.h>

#include "graph/traits.h"
#include "kernel/cost.h"

/* Vectors of a tile: sums and maxima wait for themselves, and four of each hide that. */
static int best_tile(const struct kernel *k) {
    int lanes = k->limits->simd_bytes / 4;
    return k->kind == KERNEL_REDUCE && !k->rows_inner ? lanes * 4 : lanes * 2;
}

/* Stores past the caches save reading what is overwritten, and cost whoever wants it next its place
 * in the caches: they pay where it would not have stayed, and sooner where rows are gone over more
 * than once, which results drive out of the nearest cache: of a cache of 300 MB, 134 MB of softmax
 * took 1.0 ms so for 1.5 or more, and those of a rotary embedding as long either way. */
static double streaming_factor(const struct kernel *k) {
    double part = k->kind == KERNEL_REDUCE ? 0.25 : 0.5;
    return k->bytes_read + k->bytes_written > part * (double)k->limits->l2_bytes ? 0.8 : 1.25;
}

/* A row that ends within a line of memory leaves that line to a store through the caches, between
 * two that go past them, and waits for both: rows of 408 bytes took four times as long, 0.27 us
 * each, as they do through the caches. Memory is taken to be a third as fast here as it is. */
static double torn_us(const struct kernel *k, const struct layout *y) {
    enum { LINE = 64 };
    const double ROW = 0.8;
    double rows = 0;
    for (uint32_t i = 0; i < k->stores.n && !y->rows_inner; i++) {
        const struct store_node *s = &k->stores.at[i];
        int bytes = dtype_bytes(k->schedule->loops->buffers.at[s->buffer].meta.dtype);
        if (!layout_streams(k, y, s) || index_stride(k, s->index, AXIS_R) != 1) continue;
        if (index_stride(k, s->index, AXIS_X) * bytes % LINE)
            rows += (double)kernel_size(k, AXIS_X);
    }
    return rows * ROW / k->limits->units;
}

/* Vectors of a row that are not whole tiles go one by one, with their lanes counted; tiles that are
 * no vectors on some machine are none on any. */
static double ends_factor(const struct kernel *k, const struct layout *y) {
    enum { WIDEST = 16 };
    int lanes = k->limits->simd_bytes / 4;
    double nr = (double)kernel_size(k, AXIS_R);
    if (y->rows_inner || k->kind != KERNEL_REDUCE || lanes < 1) return 1;
    if (y->vec % WIDEST) return 1.5;
    double ends = ceil(fmod(nr, y->vec) / lanes);
    return 1 + 0.5 * ends / fmax(ceil(nr / lanes), 1);
}

/* All cores work for as long as the one with the most tasks. */
static double idle_factor(const struct kernel *k, const struct layout *y) {
    int64_t units = k->limits->units, nr = kernel_size(k, AXIS_R),
            tasks = (kernel_size(k, AXIS_X) + y->bx - 1) / y->bx *
                    (y->grid_r ? (nr + y->br - 1) / y->br : y->split);
    if (k->columns) tasks = y->blocks;
    return tasks > 0 ? (double)((tasks + units - 1) / units * units) / (double)tasks : 1;
}

/* Neighbours along x, up to `most`, that all accesses along it have side by side; *joined: those of
 * the next column follow them in memory. x // 32*4096 + x % 32 has 32. */
static int run_of_rows(const struct kernel *k, int most, bool *joined) {
    int all = most;
    *joined = false;
    for (uint32_t i = 0; i < k->values.n + k->stores.n; i++) {
        bool store = i >= k->values.n;
        if (!store && k->values.at[i].kind != INST_LOAD) continue;
        ex index = store ? k->stores.at[i - k->values.n].index : k->values.at[i].index;
        int run = 1;
        while (run < all && index_runs(k, index, AXIS_X, run * 2)) run *= 2;
        if (run == 1 || (run == all && *joined)) continue; /* runs another way, or as one before */
        all = run;
        *joined = index_stride(k, index, AXIS_R) == run;
    }
    return all;
}

/* A tile of columns is a short run of each of its rows: what memory has open is left too soon, and
 * nothing is fetched ahead. Where rows are gone over again, the tile had better stay near. Of what
 * lies in blocks of rows, a tile is some streams through these, of which memory follows a few. */
static double short_tile_factor(const struct kernel *k, const struct layout *y) {
    enum { PAGE = 16384, NEAR = 512 << 10, STREAMS = 8 };
    bool joined;
    int length = run_of_rows(k, y->bx, &joined), streams = y->bx / length;
    double nr = (double)kernel_size(k, AXIS_R), tile = y->bx * 4.0 * nr,
           run = length * 4.0 * (joined ? nr : 1);
    if (run > 4.0 * (double)kernel_size(k, AXIS_X)) run = 4.0 * (double)kernel_size(k, AXIS_X);
    double factor = run < PAGE ? 1 + 0.15 * log2(PAGE / run) : 1;
    if (streams > STREAMS) factor *= 1 + 0.25 * log2((double)streams / STREAMS);
    return cost_reads(k, y) > 1 && tile > NEAR ? factor * 1.5 : factor;
}

/* What lands in a tile, or all that might, is taken up by all of its elements; with hits, after
 * sources have been sorted, and as contiguous memory if the tile is of one row. */
static double landing_us(const struct kernel *k, const struct layout *y) {
    const double STEP = 1e-4, LOOKED_UP = 1.3e-3, SORT = 4e-3, TILE = 5e-3; /* microseconds */
    bool vectors = (double)ex_hint(k->ex, k->landing->inner) >= y->vec;     /* a row has some */
    bool plain = y->hits ? layout_lands_always(k, y, k->landing->equal) : vectors;
    double rows = (double)kernel_size(k, AXIS_X), nr = (double)kernel_size(k, AXIS_R);
    double tiles = ceil(rows / y->bx), each = y->hits ? layout_hits(k, y) : nr;
    double sort = y->hits ? SORT * (nr + (double)ex_hint(k->ex, k->landing->rows)) : 0;
    return sort + tiles * (TILE + each * y->bx * (plain ? STEP : LOOKED_UP)) / k->limits->units;
}

/* Asking for memory ahead of time: a core has as much under way by itself as it looks ahead, which
 * is not past exponentials, nor sums that each wait for the last, nor where a row is looked up. A
 * next row may come beside one that the caches hold, if both are short. */
static double ahead_factor(const struct kernel *k) {
    enum { NEAR = 768 << 10 }; /* bytes of a row */
    bool waits = k->kind == KERNEL_SCAN, again = kernel_reads_twice(k);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->mask & MASK_R)
            waits |= x->kind == INST_OP ? op_is_expensive(x->op)
                                        : x->kind == INST_LOAD && !x->guarded && x->n_args;
    }
    if (again && k->bytes_read / ((double)kernel_size(k, AXIS_X) + 1) > NEAR) return 1.05;
    return !waits ? 1.05 : again ? 0.8 : 0.9;
}

static double rows_cost(const struct kernel *k, const struct layout *y) {
    double us = cost_traffic(k, y, k->limits->units) / 1e4;
    if (y->streaming) us = us * streaming_factor(k) + torn_us(k, y);
    if (y->ahead) us *= ahead_factor(k);
    if (y->vec != best_tile(k)) us *= 1.1;
    us *= ends_factor(k, y);
    if (k->landing) us += landing_us(k, y);
    if (y->rows_inner && !y->hits) us *= short_tile_factor(k, y);
    return us * idle_factor(k, y) + (y->split > 1 ? 3 : 0);
}

/* Rows, or columns, that blocks of t make of all, in tiles of `tile`. */
static double padded(double all, double tile, double t) {
    double whole = floor(all / tile), rest = all - whole * tile;
    return whole * tile + ceil(rest / t) * t;
}

/* Cycles for each vector's multiply-add of a block of registers, 1 at best: what waits for the last
 * sum of its own, or for what is loaded, which are vectors for few rows, or has no register. */
static double block_cycles(const struct kernel *k, const struct layout *y) {
    enum { HIDES = 8, STEP = 1, NEAR = 32 << 10, FAR = 384 << 10 }; /* bytes of panels in L1, L2 */
    double v = (double)y->vec / layout_block_lanes(k, y->vec), sums = y->ex * v;
    double cycles = 1 + 0.5 * STEP / sums + 1.5 / ((double)y->ex * y->ex);
    double loads = (v + y->ex) / sums;
    if (loads > 1) cycles += loads - 1;
    if (sums < HIDES) cycles *= HIDES / sums;
    int64_t free = cpu_vector_registers(k->limits) - layout_block_registers(k, y->ex, y->vec);
    if (free < 2) cycles *= free < 0 ? 1.5 : 1.04; /* a compiler needs some for what is loaded */
    int size = dtype_bytes(dtype_opmath(k->values.at[k->dot].dtype));
    double depth = fmin((double)kernel_size(k, AXIS_R), y->ur), steps = fmin(depth, DEPTH_AT_ONCE);
    if (y->vec * depth * size > NEAR) cycles *= 1.02;
    if (((double)y->bx + y->br) * depth * size > FAR) cycles *= 1.05;
    return cycles + 3 / fmax(steps, 1); /* the tile's sums: read, added to, written */
}

/* Microseconds of so many cycles, shared out in tasks: no core ends before that with the most. */
static double shared_us(const struct kernel *k, double cycles, double tasks) {
    double units = k->limits->units, turns = ceil(tasks / units);
    return cycles / units * (tasks > 0 ? turns * units / tasks : 1) / 3e3;
}

/* Multiply-adds of vectors, what is packed, again for each tile, and the results. What is packed
 * through windows is looked up in rows, each with its ends. */
static double panels_cost(const struct kernel *k, const struct layout *y) {
    const double PACK = 0.5, WINDOWS = 2, RESULT = 1; /* cycles of an element; rows of results are
                                                         far apart */
    double z = (double)kernel_size(k, AXIS_Z), m = (double)kernel_size(k, AXIS_M),
           n = (double)kernel_size(k, AXIS_N), r = (double)kernel_size(k, AXIS_R);
    double tiles_m = ceil(m / y->bx), tiles_n = ceil(n / y->br), tasks = z * tiles_m * tiles_n;
    double rows = padded(m, y->bx, y->ex), columns = padded(n, y->br, y->vec);
    double b = k->im2col[1][0] ? WINDOWS : PACK;
    double cycles = rows * columns * r / layout_block_lanes(k, y->vec) * block_cycles(k, y) +
                    r * (PACK * rows * tiles_n + b * columns * tiles_m) * (1 + 8.0 / y->ur) +
                    RESULT * (1 + y->ex / 16.0) * m * n;
    return shared_us(k, z * cycles, tasks);
}

/* The same of windows that stay in a copy of their image: that is written for each tile of it and
 * of filters, which are packed for each tile. Narrow vectors take less than whole ones. */
static double flat_cost(const struct kernel *k, const struct layout *y) {
    const double ROW = 12, STEP = 3, FILTER = 0.5, RESULT = 0.6, NARROW = 0.75;
    const struct flat_tile *f = y->flat;
    const struct im2col *w = f->of;
    int size = dtype_bytes(dtype_opmath(k->values.at[k->dot].dtype)), wide = 64 / size,
        lanes = layout_block_lanes(k, y->vec);
    double z = (double)kernel_size(k, AXIS_Z), m = (double)kernel_size(k, AXIS_M),
           n = (double)kernel_size(k, AXIS_N), r = (double)kernel_size(k, AXIS_R);
    double lines = (double)w->images, copied = (double)f->windows[w->n],
           tiles = (double)flat_tiles(f, w->n), tiles_m = ceil(m / y->bx);
    for (int d = 0; d < w->n; d++) {
        tiles *= (double)flat_tiles(f, d);
        if (d) lines *= (double)w->dim[d].windows, copied *= (double)f->positions[d];
    }
    double whole = (double)(flat_tiles(f, 0) - 1),
           rest = (double)w->dim[0].windows - whole * (double)f->windows[0];
    double columns = lines * (whole * (double)f->blocks + ceil(rest / y->ex)) * y->ex;
    double products = columns * padded(m, y->bx, y->vec) * r / lanes * block_cycles(k, y);
    if (lanes * size < k->limits->simd_bytes) products *= NARROW;
    copied *= (double)w->channels * (ROW + STEP * ceil((double)f->positions[0] / wide));
    double cycles = products + copied * tiles * tiles_m + FILTER * m * r * tiles + RESULT * m * n;
    return shared_us(k, z * cycles, z * tiles * tiles_m);
}

static double matmul_cost(const struct kernel *k, const struct layout *y) {
    return (y->flat ? flat_cost : panels_cost)(k, y);
}

double cost_on_cpu(const struct kernel *k, const struct layout *y) {
    return (k->kind == KERNEL_MATMUL ? matmul_cost : rows_cost)(k, y);
}
