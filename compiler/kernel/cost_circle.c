/* cost_circle.c: what scans take on a GPU whose blocks go through all tiles in rounds (see
 * emit/cuda_circle.c), in microseconds. In a round each block waits for its next tile and for the
 * totals of the others, which come at about the same time, scans, and leaves its own total: a turn
 * that no memory makes shorter. What is read and written meanwhile takes its time besides. */
#include <math.h>

#include "kernel/cost.h"

/* The next tile's loads, what the tile at hand has been scanned to, and what it was loaded as where
 * something else stands on that; and addresses, and totals. */
static int64_t registers_of(const struct kernel *k, const struct layout *y) {
    enum { BESIDE = 30 };
    int looked = 2 * ((y->circle + y->t1 - 1) / y->t1), again = 0;
    for (value_id v = 0; v < k->values.n && !y->waits; v++)
        if (k->values.at[v].kind == INST_LOAD && layout_load_waits(k, v)) again = 1;
    return BESIDE + looked + (1 + again) * layout_load_words(k, y) + layout_scan_words(k, y);
}

/* All of its blocks are there together: the compiler makes them fit, or spills. */
static bool spills(const struct kernel *k, const struct layout *y, int64_t blocks) {
    enum { UNIT = 8 }; /* registers are handed out by so many, and by warps */
    int64_t most = k->limits->regs_unit / (blocks * y->threads) / UNIT * UNIT;
    return registers_of(k, y) > (most < 255 ? most : 255);
}

/* In each round all blocks are without anything under way at about the same time, where they scan
 * what has come before they load what comes next, and look for what the others have left only then:
 * of one row of 268M f32 an H200 takes 821 us in 124 rounds of 264 tiles of 32 KB, 825 in 124 of 528
 * of 16 KB, 758 in 124 of 132 of 64 KB, 942 in 165 of 396 of 16 KB, of which its bytes take 500. */
double cost_circle(const struct kernel *k, const struct layout *y) {
    const double START = 4, MEMORY = 0.97, L2 = 1.3, BARRIERS = 350, ALONE = 2.3, WAITING = 0.8,
                 AHEAD = 0.4, HELD = 0.3,
                 UNIT = 2; /* times its share of memory's speed, of a multiprocessor by itself */
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
           memory = bytes / (gbps * 1e3 * MEMORY) * (1 + 0.04 / y->vec) + looked / (gbps * 1e3 * L2),
           unit = rounds * blocks * bytes / tiles / (gbps * 1e3 / units * UNIT);
    double work = (cost_element_work(k, y) + 3) * y->ur * y->vec, warps = y->threads / d->warp;
    double issued = fmax(work + BARRIERS, (double)blocks * warps * work / 4) /
                    (device_clock_ghz(d) * 1e3);
    double gap = blocks < 2 || !y->waits ? ALONE : y->stages > 1 ? AHEAD : WAITING;
    return START + fmax(fmax(memory, unit), rounds * issued) + (rounds - 1) * gap + (y->waits ? HELD : 0);
}
