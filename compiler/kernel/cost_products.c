/* cost_products.c: what products take on a GPU, about: of multiply-adds by threads, and on the
 * matrix units. A step of a tile takes what the slowest of its parts does, and some of what the
 * others do; the numbers are fitted to times of an H100 and an H200 (scripts/cost_model.py). */
#include <math.h>

#include "graph/traits.h"
#include "kernel/cost.h"

/* us that L2 takes for what a product's threads store element by element, a sector each: as long as
 * memory does for most of it. */
static double scattered_us(const struct kernel *k, const struct layout *y) {
    const double L2 = 1.2; /* of memory's rate; not fitted to anything */
    double us = 0;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *s = &k->stores.at[i];
        if ((s->mask & (MASK_M | MASK_N)) != (MASK_M | MASK_N)) continue;
        int row = layout_unit(y->vec), column = layout_unit(y->ex);
        if ((row > 1 && index_is_vector(k, s->index, AXIS_N, row)) ||
            (column > 1 && index_is_vector(k, s->index, AXIS_M, column)))
            continue;
        double elements = (double)kernel_size(k, AXIS_Z) * (double)kernel_size(k, AXIS_M) *
                          (double)kernel_size(k, AXIS_N);
        us += elements * SECTOR / (device_gbps(k->limits) * 1e3 * L2);
    }
    return us;
}

/* What blocks leave of parts of the depth is written, waited for, and read once more. */
static double parts_us(const struct kernel *k, double bytes) {
    return 2.5 + 2 * bytes / (device_gbps(k->limits) * 1e3);
}

/* How much longer panels ahead take of factors whose memory runs along the depth, which are copied
 * element by element: 4096^3 takes an H200 2746 us of none, 2834 of one and 2994 of two. */
static double lying_factors(const struct kernel *k, const struct layout *y) {
    const double OF_NONE = 0.97, OF_BOTH = 1.055; /* of one, which all is fitted to: 1 */
    int n = 0;
    n += !is_turned(y, AXIS_M) && load_stride(k, &k->values.at[k->dot_a], AXIS_R) == 1;
    n += !is_turned(y, AXIS_N) && load_stride(k, &k->values.at[k->dot_b], AXIS_R) == 1;
    return n == 0 ? OF_NONE : n == 2 ? OF_BOTH : 1;
}

/* What launches take that turn factors before. */
static double turned_us(const struct kernel *k, const struct layout *y) {
    const double LAUNCH = 3, RATE = 0.9; /* of memory's */
    double us = 0;
    for (int i = 0; i < 2; i++) {
        enum axis axis = i ? AXIS_N : AXIS_M;
        if (is_turned(y, axis))
            us +=
                LAUNCH + 2 * (double)turned_bytes(k, axis) / (device_gbps(k->limits) * 1e3 * RATE);
    }
    return us;
}

/* Clocks of a multiprocessor for each step along the depth: what nothing hides, for it is waited
 * for together (a tile's loads and barriers, the copies into shared memory), and what the warps of
 * all resident blocks take from its four schedulers. The numbers are fitted to products of 1024^3
 * and 2048^3 on an H200; fitted to one workload, they are within 15 % of the other's times. Of
 * more blocks than a multiprocessor holds at a time the first ones alone wait together: later ones
 * are out of step. An H100 takes 223 us for 8192 x 64 x 8192 and 235 for 256 of 512 x 64 x 512,
 * which were said to take 327 and 388. */
double cost_by_threads(const struct kernel *k, const struct layout *y) {
    const double TILE = 990, STEP = 53, COPY = 150; /* clocks: of each tile, step, element copied */
    const double OPERAND = 0.17, COPIED = 25;       /* instructions: from shared memory, into it */
    /* The same of panels ahead, and of each sum. Fitted to 4096^3, an H200. */
    const double AHEAD = 1.3, OPERAND_AHEAD = 0.3, COPIED_AHEAD = 3;
    /* Of a block that is alone on its multiprocessor, whose warps fold their sums and wait for each
     * other at a time: 8192^3 takes an H200 25.3 ms so, 22.4 by blocks of 96 x 128. */
    const double ONE_BLOCK = 1.05;
    enum { ONE_FROM = 256 * 128 }; /* sums of a block */
    /* So many times that where it takes finding an element of a window in an image: 64 filters of
     * 27 terms at 10.3 million places take 5.6 ms on an H100. */
    const double WINDOW = 16;
    const double WIDE =
        1.3; /* of more than 8 columns; from when their reads met in the same banks */
    const double BESIDE = 0.1; /* of the faster of arithmetic and memory; not fitted */
    /* Of a single stage all is waited for, by blocks of more than 64 sums a thread alone: 64
     * channels of 16 at a million pixels take an H200 144 us by 128 x 64, 8 x 8 a thread, and of 6
     * at 8.4 million 1332 by 256 x 128, 16 x 8 a thread, of which memory takes 76 and 548. */
    const double ALL = 1, ALONE = 2;
    enum { FEW_SUMS = 64 };
    const struct device_limits *d = k->limits;
    double tiles = (double)kernel_size(k, AXIS_Z) * ceil((double)kernel_size(k, AXIS_M) / y->bx) *
                   ceil((double)kernel_size(k, AXIS_N) / y->br) * y->split;
    int bytes = dtype_bytes(dtype_opmath(k->values.at[k->dot].dtype));
    int panels = y->stages ? y->stages : 2, gaps = y->stages ? 2 * PANEL_GAP : 0;
    double depth =
        (double)(y->folded ? y->folded : y->smem) / panels / bytes / (y->bx + y->br + gaps);
    double copied = (double)(y->bx + y->br) / y->threads; /* elements a thread, for each step */
    bool taps = im2col_has_taps(k->im2col[0][0]) || im2col_has_taps(k->im2col[1][0]);
    double found = taps ? WINDOW : 1;
    double sums = (double)y->ex * y->vec;
    double alone = STEP + COPY * copied + TILE / depth,
           warp = (sums + OPERAND * (y->ex + y->vec) + COPIED * found * copied) / 4;
    if (y->stages) { /* panels ahead */
        alone = STEP + TILE / depth / 4;
        warp = (AHEAD * sums + OPERAND_AHEAD * (y->ex + y->vec) + COPIED_AHEAD * copied) / 4;
    }
    if (y->stages) warp *= lying_factors(k, y);
    if (y->bx * y->br >= ONE_FROM) warp *= ONE_BLOCK;
    double blocks = ceil(tiles / d->units);
    double step = alone + blocks * layout_warps(k, y) * warp;
    double ghz = device_clock_ghz(k->limits);
    double steps = ceil(ceil((double)kernel_size(k, AXIS_R) / depth) / y->split) * depth;
    double us = steps * step * (y->vec > 8 && !y->stages ? WIDE : 1) / (ghz * 1e3);
    double least = (k->bytes_read + k->bytes_written) / (device_gbps(d) * 1e3 * 0.9);
    least = fmax(least, scattered_us(k, y));
    double waited = (sums > FEW_SUMS ? ALONE : ALL) * depth / steps;
    us = fmax(us, least) + fmax(BESIDE, waited) * fmin(us, least);
    if (y->split > 1) us += parts_us(k, tiles * y->bx * y->br * 4);
    return us + turned_us(k, y);
}

/* Clocks of a step whose warps copy and multiply both, of which a multiprocessor has `warps`: units
 * for the products, if these wait for nothing. A warp that is alone waits for the factors of each
 * 16 of the depth; and where in an image a piece of a window is takes most instructions of a copy.
 */
static double by_warp_clocks(const struct kernel *k, const struct product *p, double units,
                             double rate, double warps) {
    const double WAIT = 70, OF_WINDOW = 60, OF_LINE = 20, ALONE = 0.5;
    enum { ISSUED = 4, PIECE = 16, FMAS = 16 * 8 * 16 };
    double of_scheduler = warps / ISSUED;
    double products = p->warp_rows / 16.0 * p->warp_columns / 8 * FMAS * ISSUED / rate;
    double reached = fmin(1, of_scheduler * products / (products + WAIT));
    double pieces = p->a_bytes * (p->a.windows ? OF_WINDOW : OF_LINE) +
                    p->b_bytes * (p->b.windows ? OF_WINDOW : OF_LINE);
    double issued = pieces / PIECE / k->limits->warp / ISSUED;
    return units / reached + issued / fmin(1, of_scheduler * ALONE);
}

/* How many times as long boxes take whose lines of 128 bytes begin within those of memory, or
 * within sectors: 1000^3 takes an H100 12.0 us in bf16 by tiles of 64 by 128, 10.0 where two blocks
 * share a factor, 17.1 in tf32; 1024^3 takes 6.3 and 14.1. */
static double torn_lines(const struct operand *o) {
    const double SECTORS = 1.85, LINES = 1.35;
    int64_t pitch = o->pitch * dtype_bytes(o->stored), from = o->offset * dtype_bytes(o->stored);
    return (pitch | from) % SECTOR ? SECTORS : (pitch | from) % LINE ? LINES : 1;
}

/* Clocks of what a step's copies bring of a factor, by lines of windows, which tensor maps are slow
 * at, or by bytes: short steps bring less. sharers: blocks of a cluster that copy a part each. */
static double copy_clocks(const struct product *p, const struct operand *o, int bytes, int rows,
                          int depth, int sharers) {
    /* A clock, at most, in lines of 128 bytes; others take as long: 8192^3 in bf16 takes an H100
     * 3.9 ms by tiles of 64 by 64, 4.2 by 96 columns, lines of 64 bytes, and 9.0 by 80, of 32. */
    const double COPIED = 60;
    /* Of images as they lie: 3 x 3 taps of 64 channels in 64 filters take an H200 1774 us by two
     * blocks of 128 rows, which copy each tap, and 1364 by one of 192 with three taps a step. */
    const double LAIN = 42;
    const double RUN = 13; /* lines of 128 bytes, 32 apart: 8 channels of tf32 on an H100 */
    int of_lines = depth * dtype_bytes(o->stored), of_short = of_lines;
    if (p->shorts.every && !o->along) {
        int line = o->line ? o->line : LINE < of_lines ? LINE : of_lines;
        of_short = (int)round_up(p->shorts.depth * dtype_bytes(o->stored), line);
    }
    double part = 1;
    if (p->shorts.every) part -= (1 - (double)of_short / of_lines) / (double)p->shorts.every;
    if (o->lying) return bytes / LAIN;
    if (!o->windows)
        return part * bytes / COPIED * torn_lines(o) * LINE / operand_line(o, rows, depth);
    bool wide = operand_has_runs(o) && dtype_bytes(o->dtype) == 4 && !p->by_warp;
    double of_line = operand_line_clocks(o, o->along ? depth : rows / sharers, p->by_warp);
    return part * bytes / o->line * (wide ? RUN : of_line);
}

/* Clocks of a tile's epilogue but for its stores, of instructions that dear operators take, and
 * sums of spans of its rows, and those that move rows on to memory's vectors; a warpgroup that is
 * alone waits for most of them, and functions that are called, not there for each element, take one
 * element at a time: mish of mish behind 1024 x 8192 x 8192 in tf32 takes an H200 100 us, 20 us
 * once. */
static double epilogue_clocks(const struct kernel *k, const struct layout *y) {
    enum { LONG = 16, DEAR = 32, LANES = 128 };
    const double BESIDE_MAKERS = 1.5;
    const double ALONE = 0.6, TOGETHER = 0.9, CALLED = 2.5;
    const double MOVED = 6.5; /* an element, as emitted: 52 for a thread's four pairs */
    const double REDUCED = 8; /* into a sum; not measured by itself */
    double size = epilogue_size(k, y->product->online ? 2 : k->levels ? k->levels : 1);
    for (value_id v = 0; v < k->values.n && kernel_has_spans(k); v++)
        if (k->values.at[v].kind == INST_REDUCE && v != k->dot) size += REDUCED;
    if (product_calls_maths(k, y->product)) size *= CALLED;
    /* Where others make tiles meanwhile, a warpgroup waits for each instruction of its own: tanh
     * behind 8.3 million pixels of 64 filters, 3 x 3 of 8 channels, takes an H200 1485 us by 128 x
     * 128, and 967 where maps copy the windows. */
    bool beside_makers = y->product->makers && !k->over && size >= LONG;
    if (size <= DEAR && beside_makers)
        size *= BESIDE_MAKERS;
    else if (size <= DEAR)
        size = 0;
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (store_begins_anywhere(k, y->product, &k->stores.at[i])) size += MOVED;
    return (double)y->bx * y->br * size / LANES /
           (product_groups(y->product) == 1 ? ALONE : TOGETHER);
}

/* Clocks of a step whose tile of `rows` warps make: what a warpgroup has to issue, of which each
 * scheduler has one warp, and to wait for what it reads, while others have their turns. Not fitted
 * to anything but ROUND, of one plane: tiles of tf32 that lie across, 256 by 32 by one group, take
 * 3400 clocks a step on an H100. */
static double made_clocks(const struct kernel *k, const struct product *p, int rows, double steps) {
    const double READ = 3, INSIDE = 2, PLANES = 8, ROUND = 22, ISSUED = 0.7, LATENCY = 900;
    enum { GROUP = 128 };
    const struct operand *o = p->a.made ? &p->a : &p->b;
    const bool *needed = kernel_parts(k, o->factor);
    double each = o->planes > 1 ? PLANES : ROUND;
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!needed[v] || !(x->mask & MASK_R)) continue;
        if (x->kind == INST_LOAD) each += READ;
        if (x->kind == INST_INDEX) each += INSIDE;
        if (x->kind == INST_OP) each += op_is_expensive(x->op) ? 8 : 1;
    }
    double elements = (double)rows * (double)o->depth / steps / GROUP;
    return (elements * each / ISSUED + LATENCY) / p->makers;
}

static double elements_of(const struct operand *o) {
    return (double)o->rows * (double)o->depth * (double)o->batches;
}

/* us of what is loaded and stored behind the sums, which nobody's products hide where all blocks
 * wait for each other. */
static double exposed_us(const struct kernel *k, const struct product *p) {
    double bytes = k->bytes_read + k->bytes_written;
    for (int i = 0; i < 2; i++) {
        const struct operand *o = i ? &p->b : &p->a;
        if (!o->windows) bytes -= elements_of(o) * dtype_bytes(o->stored);
    }
    return fmax(bytes, k->bytes_written) / (device_gbps(k->limits) * 1e3);
}

/* Of the factors that each are copied once. */
static double once_bytes(const struct product *p) {
    double bytes = 0;
    for (int i = 0; i < 2; i++) {
        const struct operand *o = i ? &p->b : &p->a;
        if (o->once) bytes += elements_of(o) * dtype_bytes(o->stored) * stored_planes(o);
    }
    return bytes;
}

/* What L2 hands out of the factors beyond the first time, which memory's speed counts: the second
 * reader of a line may be in its other half, and later ones find it in both. 256 x 524288 x 256 in
 * bf16 takes an H200 150 us where all is read once, 178 to 183 where half of it is twice, 213 where
 * all is, or a half four times. */
static double again_us(const struct kernel *k, const struct layout *y) {
    const double SECOND = 36, LATER = 140; /* bytes a clock of a multiprocessor */
    const struct product *p = y->product;
    double us = 0;
    for (int i = 0; i < 2; i++) {
        const struct operand *o = i ? &p->b : &p->a;
        double reads = (double)matrix_tiles(k, y, o->axis == AXIS_M ? AXIS_N : AXIS_M);
        if (o->windows || o->stays) continue;
        double bytes = elements_of(o) * dtype_bytes(o->stored) * stored_planes(o);
        us += bytes * (fmin(1, fmax(0, reads - 1)) / SECOND + fmax(0, reads - 2) / LATER);
    }
    return us / (k->limits->units * device_clock_ghz(k->limits) * 1e3);
}

/* Of each element of the product, in all outputs that have one. */
static double stored_bytes(const struct kernel *k) {
    double bytes = 0;
    for (uint32_t i = 0; i < k->stores.n; i++)
        if ((k->stores.at[i].mask & (MASK_M | MASK_N)) == (MASK_M | MASK_N))
            bytes += dtype_bytes(k->schedule->loops->buffers.at[k->stores.at[i].buffer].meta.dtype);
    return bytes;
}

/* Products on the matrix units: a step of a tile takes what the units need for it, or to read it
 * out of shared memory, and what a warpgroup waits for between two steps, which another one hides
 * in part; or as long as its copy is under way, if few are ahead. Warps that make planes multiply
 * meanwhile as little as they do when they wait for their products. Fitted to 286 configs of 15
 * products in bf16 on an H200 (reports/samples/product_trials_h200.csv, scripts/cost_model.py), of
 * which it puts first guesses 1 % behind the best in the mean, and to those that won among others
 * (scripts/product_guesses.py). Of tcgen05 nobody has measured anything: its numbers are the data
 * sheet's and those of wgmma. */
double cost_on_units(const struct kernel *k, const struct layout *y) {
    const double SHARED = 112;  /* bytes a clock of a multiprocessor */
    const double BARRIER = 60;  /* of all warps, which other blocks hide; not fitted to anything */
    const double LOADED = 0.92; /* of the clock */
    const double LATENCY = 2000, WAIT = 125, WAIT_ALONE = 120, PROMOTE = 260, PROMOTE_ALONE = 520;
    /* A factor into registers. 512^3 takes an H200 7.8 us in f32 by 64 x 32, 10.5 by 128 x 32, and
     * in tf32 5.3 and 6.5; READ is not fitted to anything. */
    const double READ = 40, READ_ALONE = 100;
    /* Of images as they lie: of the shorter of products and what they read of shared memory. 64
     * channels, 3 x 3, in 128 filters take an H200 946 us, in 64 filters 1141. */
    const double LYING = 0.15;
    const double PLANES = 7; /* instructions for an element's planes; four warps issue at a time */
    /* The same of pairs that are split where they lie, which goes on beside nothing: 4096^3 takes
     * an H200 1009 us so, 682 with images of pairs, 128 of 512 x 1024 x 2048 2040 and 2061. A
     * warpgroup alone is not measured. */
    const double SPLIT = 8, SPLITS = 0.7, SPLITS_ALONE = 0.45;
    const double PART = 10; /* for a copy that is smaller than usual; not fitted to anything */
    const double BESIDE =
        0.1; /* of the faster of products and copies, which go on beside each other */
    /* Sums of a thread beside which there are registers for what spans of its rows come to: 8.5
     * million pixels of 64 filters with gelu and a group norm's sums behind take an H200 6780 us by
     * 64 x 256, which moves 9.5 GB of spilled registers, 4800 by two blocks of 64 x 192, 3750 by
     * two of 64 x 128. */
    enum { MOST_KEPT = 64 };
    /* Warps of a multiprocessor that keep these four busy. 16 x 4096 x 11008 in f32 takes an H200
     * 84 us by four warps, 8 x 4096 x 4096 30 by two blocks of four, which were said to take 100
     * and 37 with 12 here; 94 by pairs, said to take 96. */
    const double BUSY = 8;
    const double USUAL = 64; /* columns */
    /* Where nearly all bytes are stored: 32768 x 32768 in tf32 by clusters takes an H200 1353 us at
     * a depth of 32, 1246 in bands of 16 tiles, 1406 and 1307 at 64. */
    const double MOSTLY = 4, BANDED = 0.93;
    enum { USUAL_BAND = 8 };
    const double EPILOGUE = 850, FILL = 3500, LAUNCH = 3;
    /* Blocks that wait for each other all take as long as the slowest of each wave: of its time,
     * for each that shares the rows, and a meeting. Fitted to means, norms and softmax behind
     * products of tf32 on an H200, 8, 32 and 64 blocks a row: 4, 10 to 25 and 45 to 70 %. */
    const double SKEW = 0.003, MOST_SKEWED = 0.2;
    /* us: what each leaves is there for the others, and has been waited for. Norms of rows of 768
     * behind 1576 x 768 and 3072 x 768 take an H200 7.7 and 4.6 us more than these alone in bf16,
     * 8.2 and 3.4 in tf32, of which 1 to 2 are what is stored. */
    const double MEETING = 2.5;
    /* us, for each of a thread's sums and what is loaded beside it, in each wave and phase: sums of
     * columns take registers or shuffles of their own. 6272 pixels of 1024 filters of a gradient
     * with three loads take 64 us with two sums behind, 31 without; 25088 of 512 82 and 54; 100352
     * of 64 with none 31 and 20; 1568 of 512, whose norm meets twice, 27 and 9. */
    const double SUMMED = 0.02;
    /* us, each of these reads a part of each: a batch norm behind 16384 x 4096 x 4096 waits some 26
     * for 64 blocks, one behind a convolution of 25088 pixels more than 150 for 131. */
    const double READ_BY_ALL = 0.0065;
    /* Registers beside the sums where rows or columns are summed up, too; else they are spilled:
     * 25088 pixels of a layer's gradient, with two sums behind, take an H200 151 us by two blocks
     * of 64 x 192. So are sums of spans beside which others make the tiles: 8 channels, 3 x 3, in
     * 64 filters with a group norm's sums behind take 757 us by 64 x 256, 560 by two blocks of
     * 64 x 128 that copy them. */
    const double SPILLED = 1.5;
    enum { BESIDE_SUMS = 64 };
    /* us, where columns' sums are read behind the tiles that they are of: 6272 pixels of 1024
     * filters with a batch norm behind take an H200 87 us, 10, 13 and 14 as three kernels; 1568
     * of 2048 36 and 68 with one and two more loads, 9 and 12 to 24. */
    const double COLUMNS_MET = 20;
    /* us, for each of a thread's sums that stay while blocks wait for each other, and each element
     * beyond two that is loaded beside it: what is made of them is spilled. By 112 sums a thread,
     * layers of 1568 pixels take an H200 13 us more than by themselves with one load, 36 to 73 with
     * four; by 128 of 6272 pixels 6 with two, 56 to 152 with three and four. */
    const double STAYS = 0.3;
    enum { FEW_LOADS = 2 };
    /* Clocks for a byte: 262144 pixels of 512 phases and filters, 256 deep, take an H200 188 us in
     * tf32 by 128 x 256, of which products are 4096 * 8192 clocks of a multiprocessor. */
    const double STORED = 0.025;
    /* Clocks of a tile of an image as it lies, and of each of its elements that is turned. Of 3
     * channels, 3 x 3 x 3 in 16 filters, 7.3 million positions take an H200 some 2450 clocks for
     * 128 positions and 3050 for 192, of 8 channels, 3 x 3 in 64 filters, 3250 for two blocks of 64
     * and 5600 for 192; without these 1450, 1850, 2200 and 3300. What is not turned, or
     * made of planes, hides more of it. */
    const double LAIN = 700, TURNED = 0.14, STRAIGHT = 300;
    /* The same of other columns, which a warpgroup that has a tile by itself turns: it waits at
     * each exchange, and for each instruction behind its sums. Mish of mish behind 8.3 million
     * windows of 64 channels, 3 x 3, in 128 filters takes an H200 3515 us by 128 x 192 in turn,
     * said to take 2541; 2272 as they lie. */
    const double TURNED_ALONE = 0.9, AN_INSTRUCTION = 0.028;
    /* Clocks of each of a tile's sums, of planes of windows that others make in several steps: 16
     * channels, 3 x 3, in 128 filters take an H200 7422 us, which were said to take 5956, 32
     * channels, 5 taps, in 64 filters 1098 and 923, as they lie 979 and 1012. If all of a tile's
     * are made while wide ones before it are stored, they take little: 16 channels of 2 x 2 x 2 in
     * 256 columns some 42 us less so than by lines, and 29 less than as they lie. */
    const double MADE = 0.1, MADE_AHEAD = 0.03;
    /* Of that, what two blocks do not hide of each other: by two of 128 these take 2050 and 3700
     * for each tile. */
    const double ROW = 5.5, ELEMENT = 0.1548;
    /* us: pairs: the three launches in bf16 beside them, and that the first waits for a verdict:
     * 1000^3 takes 38.7 us on an H100, 29.9 without pairs. */
    const double IDLE = 15;
    /* us, until the blocks of clusters have begun, and ended; clocks, until all of a cluster have
     * read a stage. */
    const double TOGETHER = 0.9, COUPLED = 10;
    /* us: where they have parts of the depth: 8 x 4096 x 4096 takes an H100 37.2 us in tf32, 34.7
     * without clusters, 21.2 and 19.7 in bf16. */
    const double PARTED = 2.2;
    /* Where memory is what is waited for: 128 x 16384 x 16384 in tf32 takes an H200 279 us in two
     * parts, 294 in three and 298 in four, 270 to 273 in one. */
    const double IN_PARTS = 1.06;
    /* Where memory is what is waited for: 64 x 8192 x 8192 in tf32 takes 104.4 us so, 101.7 else;
     * 128 x 32768 x 32768 an H200 1130 and 1069, but in f32, by pairs, 1432 and 1473. */
    const double SLOWER = 0.11;
    const double BOTH = 0.2;  /* of the shorter, of copies of windows and of boxes */
    const double LANES = 128; /* of tensor memory */
    /* Stages: 4096^3 takes 2222 us on an H100 with two of 64 by 96 (two blocks a multiprocessor),
     * 738 with three of 128 by 128. */
    const double HELD = 1.75;
    const struct device_limits *d = k->limits;
    const struct product *p = y->product;
    double ghz = device_clock_ghz(k->limits) * LOADED, gbps = device_gbps(d);
    double rate =
        d->matrix_tflops * 1e3 / (2 * d->units * device_clock_ghz(k->limits)); /* a clock */
    if (p->by_warp && d->wgmma) rate *= 0.6;
    double depth = (double)p->b_bytes / y->br / dtype_bytes(p->b.stored) / stored_planes(&p->b);
    double steps = ceil((double)p->a.depth / depth), m = y->bx, n = y->br;
    if (p->steps) steps = (double)p->steps->total / (double)kernel_size(k, AXIS_Z);
    int bytes = dtype_bytes(p->a.dtype); /* tf32 takes twice as long as bf16 */
    double left = product_depth_left(&p->shorts, (int)depth);
    if (p->a.lying) left *= (double)p->a.step_taps / p->a.step_places;
    double units = left * m * n * depth * p->n_passes * bytes / 2 / rate;
    /* Narrow lines lie in fewer banks: f32 in 8192 x 64 x 8192 takes an H100 159 us by 64 columns
     * of two blocks, 182 by 96, 227 by 80. */
    double read = p->by_warp ? n : n * LINE / operand_line(&p->b, y->br, (int)depth);
    /* In turn one warpgroup multiplies, by an instruction for each 64 rows. */
    int groups = p->in_turn > 1 ? p->warp_rows / 16 : p->warpgroups;
    double shared = left * p->n_passes * depth * bytes * groups * (64 + read) / SHARED;
    if (p->a.in_registers)
        shared = left * depth * p->warpgroups *
                 (64 * dtype_bytes(p->a.stored) + p->n_passes * bytes * read) / SHARED;
    if (p->tensor) { /* an instruction has all rows; those of 64 take as long as of 128 */
        shared = left * p->n_passes * depth * bytes * (m + n) / SHARED;
        if (m < LANES) units *= LANES / m;
    }
    if (p->by_warp)
        shared = p->n_passes * depth * bytes * (p->warp_rows + p->warp_columns) *
                 (y->threads / (double)d->warp) / SHARED;
    /* Planes that each warp makes, by so many instructions an element. */
    double made =
        operand_makes_planes(&p->a) * p->warp_rows + operand_makes_planes(&p->b) * p->warp_columns;
    double tiles = (double)matrix_all_tiles(k, y), whole = (double)p->whole, cut = tiles - whole;
    double resident = fmin(p->resident, fmax(1, ceil(tiles * p->parts / d->units)));
    double warps = (double)y->threads / d->warp, busy = fmin(1, warps * resident / BUSY);
    if (p->by_warp) units = by_warp_clocks(k, p, units, rate, warps * resident);
    if (p->by_warp) units += made * depth * PLANES / (4.0 * d->warp) * warps / busy;
    for (int i = 0; i < 2 && p->by_warp; i++) {
        const struct operand *o = i ? &p->b : &p->a;
        if (o->piece < 16) /* bytes: the usual ones hide behind products */
            units += PART * (i ? p->b_bytes : p->a_bytes) / o->piece / (4.0 * d->warp);
    }
    bool alone = p->warpgroups == 1;
    /* tensor: of sums that are read in each step, unless others are made meanwhile. */
    double wait = p->promotes ? alone ? PROMOTE_ALONE : PROMOTE : alone ? WAIT_ALONE : WAIT;
    if (p->a.in_registers) wait += (alone ? READ_ALONE : READ) * (p->a.planes > 1 ? 2 : 1);
    if (p->pairs && p->promote_pairs < (int)depth) wait += alone ? WAIT_ALONE : WAIT;
    if (p->tensor) wait = p->promotes && p->sums_at_once == 1 ? PROMOTE : 0;
    if (p->by_warp) wait = BARRIER / resident;
    int cluster_a = product_sharers(p, y->cluster, AXIS_M),
        cluster_b = product_sharers(p, y->cluster, AXIS_N);
    double of_a = copy_clocks(p, &p->a, p->a_bytes / cluster_a, y->bx, (int)depth, cluster_a),
           of_b = copy_clocks(p, &p->b, p->b_bytes / cluster_b, y->br, (int)depth, cluster_b);
    /* Nobody copies what is made; of other factors than windows this is as it was fitted. */
    bool made_windows = p->makers && im2col_has_taps(k->im2col[p->a.made ? 0 : 1][0]);
    if (made_windows) *(p->a.made ? &of_a : &of_b) = 0;
    bool windows_a = p->a.windows && !p->a.lying, windows_b = p->b.windows;
    double lines = windows_a * of_a * cluster_a + windows_b * of_b * cluster_b;
    double boxes = p->by_warp ? 0 : !windows_a * of_a + !windows_b * of_b;
    lines = fmax(lines, boxes) + BOTH * fmin(lines, boxes);
    if (p->makers) lines += made_clocks(k, p, p->a.made ? y->bx : y->br, steps);
    double work = fmax(units, shared) + (p->a.lying ? LYING * fmin(units, shared) : 0);
    double split = (p->a.splits * m + p->b.splits * n) * depth * SPLIT / (4.0 * d->warp) /
                   (alone ? SPLITS_ALONE : SPLITS);
    double multiplied = work + split + wait;
    double step = fmax(multiplied, lines) + BESIDE * fmin(multiplied, lines);
    /* Pairs give a stage back when the first products of the next step are done. */
    double ahead = y->stages - (p->pairs ? HELD : 1);
    step = fmax(step, LATENCY / ahead / (p->by_warp ? resident : 1));
    if (y->cluster > 1) step += COUPLED;
    bool spills = kernel_has_spans(k) && product_thread_sums(p) > MOST_KEPT;
    double output = epilogue_clocks(k, y), part = ceil(steps / p->parts);
    double at_once = floor((double)matrix_clusters(k, y) / p->resident);
    double waves = ceil(cut * p->parts / at_once), before = ceil(whole / at_once);
    if (p->bounded && waves > 1) part = p->mean_steps / p->parts; /* blocks have as many: dot.c */
    double behind = EPILOGUE * (n < USUAL ? 0.3 + 0.7 * n / USUAL : 1); /* not fitted */
    bool taps = im2col_has_taps(k->im2col[0][0]) || im2col_has_taps(k->im2col[1][0]);
    if (taps) behind = fmax(behind, m * n * STORED * stored_bytes(k));
    bool turns = p->a.lying && p->turned && p->a.planes == 1;
    if (p->turned && p->in_turn > 1 && p->beside == 1)
        behind += m * n * TURNED_ALONE * (1 + AN_INSTRUCTION * epilogue_size(k, 1));
    if (p->a.lying) behind += turns ? LAIN + m * n * TURNED : STRAIGHT;
    if (made_windows && p->n_passes > 1 && p->promotes)
        behind += m * n * (n > USUAL && steps <= y->stages ? MADE_AHEAD : MADE);
    behind += output;
    double tile = part * step + behind, uncut = steps * step + behind;
    if (p->tensor && p->sums_at_once > 1 && waves > 1) tile = fmax(part * step, behind);
    /* Two in turn: one multiplies while the other is at its epilogue, but for the last. */
    double last = 0;
    if (p->in_turn > 1 && waves > 1) {
        tile = fmax(fmax(part * step, tile / p->in_turn), output); /* both are issued by turns */
        last = behind;
    }
    if (!p->by_warp && resident > 1) { /* what one waits for is another's time */
        double busy = work, copies = of_a + of_b;
        busy = fmax(busy, copies) + BESIDE * fmin(busy, copies);
        double turned = turns ? m * (ROW + n * ELEMENT) : 0;
        tile = fmax(fmax(tile / resident, part * busy + turned), output);
        uncut = fmax(fmax(uncut / resident, steps * busy + turned), output);
    }
    if (spills) tile += output, uncut += output;
    double us = (before * uncut + waves * tile + last + FILL) / (ghz * 1e3);
    double least = (k->bytes_read + k->bytes_written) / (gbps * 1e3 * 0.9);
    least += again_us(k, y) * p->mean_steps / steps;
    if (k->bytes_written > MOSTLY * k->bytes_read && y->cluster > 1 && p->band > USUAL_BAND)
        least *= BANDED;
    if (p->parts > 1) least *= IN_PARTS;
    if (p->makers && kernel_has_spans(k)) us *= SPILLED;
    int held = d->regs_unit / (p->resident * y->threads);
    if (k->over && p->resident > 1 && product_thread_sums(p) + BESIDE_SUMS > held) us *= SPILLED;
    /* What rows come to: another launch, or a meeting for each phase; not fitted to anything. */
    if (k->over && !epilogue_reads_results(k)) us += LAUNCH;
    if (p->pairs) us += IDLE;
    if (y->cluster > 1) us += TOGETHER;
    double meetings = p->sharing > 1 ? p->online ? 1 : k->levels - 1 : 0;
    if (k->over & MASK_M && !kernel_has_spans(k))
        us += SUMMED * product_thread_sums(p) * (1 + epilogue_loads(k)) * waves * (1 + meetings);
    if (p->sharing > 1) {
        us *= 1 + fmin(MOST_SKEWED, SKEW * p->sharing) * meetings;
        us += waves * meetings * READ_BY_ALL * p->sharing * p->sharing;
        us += exposed_us(k, p) + MEETING * meetings;
        if (k->over & MASK_M && !kernel_has_spans(k)) us += COLUMNS_MET * meetings;
        int sums = product_thread_sums(p), more = epilogue_loads(k) - FEW_LOADS;
        if (!p->online && sums > MOST_KEPT && more > 0) us += STAYS * sums * more * meetings;
    }
    bool of_memory = least > us;
    us = fmax(us, least) + BESIDE * fmin(us, least);
    /* By L2, once all of it has been read: in bf16 64 x 8192 x 8192 takes an H100 64.0 us in four
     * parts, 56.7 in one, 16 x 4096 x 11008 takes 47.2 in three and 42.3. */
    double rows = fmin(m, (double)p->a.rows);
    if (p->parts > 1 && y->cluster > 1) us += PARTED;
    if (p->parts > 1) us += parts_us(k, cut * p->parts * rows * n * 4);
    if (y->leave_l2)
        us +=
            cost_leaving_us(k, once_bytes(p), once_bytes(p) / (gbps * 1e3), of_memory ? SLOWER : 0);
    return us + operand_pack_us(k, &p->a) + operand_pack_us(k, &p->b);
}
