/* cost_circle.c: what scans take on a GPU whose blocks go through all tiles in rounds (see
 * emit/cuda_circle.c), in microseconds. In a round each block waits for its next tile and for the
 * totals of the others, which come at about the same time, scans, and leaves its own total: a turn
 * that no memory makes shorter. What is read and written meanwhile takes its time besides. */
#include <math.h>

#include "kernel/cost.h"

/* The next tile's loads unless they are copied, what the tile at hand has been scanned to, and what
 * it was loaded as where something else stands on that; and addresses, and totals. What the tuner
 * found spilled is just above what this leaves. */
static int64_t registers_of(const struct kernel *k, const struct layout *y) {
    enum { BESIDE = 32, LOOK = 5, HOLDING = 6, PARTS = 10 };
    int looked = LOOK * ((y->circle + y->t1 - 1) / y->t1), again = 0;
    int loads = layout_load_words(k, y);
    for (value_id v = 0; v < k->values.n && !y->waits; v++)
        if (k->values.at[v].kind == INST_LOAD && layout_load_waits(k, v)) again = loads;
    if (y->stages > 1) loads -= (int)(layout_stage_bytes(k, y) / y->threads / 4) / 2;
    bool exact = kernel_size(k, AXIS_R) % y->br == 0;
    return BESIDE + looked + loads + again + layout_scan_words(k, y) +
           (y->waits && y->stages < 2 ? HOLDING : 0) + (exact ? 0 : PARTS);
}

/* All of its blocks are there together: the compiler makes them fit, or spills. */
static bool spills(const struct kernel *k, const struct layout *y, int64_t blocks) {
    enum { UNIT = 8 }; /* registers are handed out by so many, and by warps */
    int64_t most = k->limits->regs_unit / (blocks * y->threads) / UNIT * UNIT;
    return registers_of(k, y) > (most < 255 ? most : 255);
}

/* In each round all blocks are without anything under way at about the same time, where they scan
 * what has come before they load what comes next, and look for what the others have left only then:
 * of one row of 268M f32, whose bytes take an H200 500 us, rounds of 264 tiles of 32 KB take it
 * 821, of 528 of 16 KB 825, and of 396 of 16 KB, of which there are more, 942. Where a tile waits
 * for a round it takes 575 by 264 tiles of 32 KB, 582 with copies ahead; 603 by 528 of 16 KB, 608
 * by 396 of 16 KB, and 556 by 132 of 64 KB. The first copies nothing hides: 4M f32 take it 12.9 us
 * without and 13.9 with them, 15.1 where no tile waits. */
double cost_circle(const struct kernel *k, const struct layout *y) {
    const double START = 4, MEMORY = 0.97, L2 = 1.3, BARRIERS = 350, BESIDE = 0.5, ONE = 0.8,
                 ALONE = 2.3, WAITING = 0.05, BLOCK = 0.1, HELD = 0.3, COPIED = 1,
                 UNIT = 2; /* times its share of memory's speed, of a multiprocessor by itself */
    const double SLOWER = 1.04; /* of larger blocks, whose warps wait for each other */
    enum { LARGE = 512 };
    const struct device_limits *d = k->limits;
    double tiles = (double)(tile_count(kernel_size(k, AXIS_X), y->bx) *
                            tile_count(kernel_size(k, AXIS_R), y->br));
    int64_t blocks = (y->circle + d->units - 1) / d->units; /* of a multiprocessor */
    if (spills(k, y, blocks)) return 1e9;
    double rounds = ceil(tiles / y->circle), looked = 0, gbps = device_gbps(d);
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_SCAN)
            looked += 8.0 * reduction_words(k, v) * y->bx * tiles * y->circle;
    double bytes = cost_traffic(k, y, y->circle), units = d->units,
           memory =
               bytes / (gbps * 1e3 * MEMORY) * (1 + 0.12 / y->vec) + looked / (gbps * 1e3 * L2),
           unit = rounds * (double)blocks * bytes / tiles / (gbps * 1e3 / units * UNIT);
    double work = (cost_element_work(k, y) + 3) * y->ur * y->vec, warps = y->threads / d->warp;
    double issued =
        fmax(2 * work + BARRIERS, (double)blocks * warps * work / 4) / (device_clock_ghz(d) * 1e3);
    double gap = y->waits ? WAITING + BLOCK * (double)blocks + BESIDE * issued : ALONE,
           begin = START + (y->waits ? HELD : 0) + (y->stages > 1 ? COPIED : 0);
    if (y->waits && blocks == 1 && y->stages < 2) gap += ONE; /* nothing is under way meanwhile */
    if (y->threads > LARGE) memory *= SLOWER;
    return begin + fmax(fmax(memory, unit), rounds * issued) + (rounds - 1) * gap;
}
