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
    int again = 0, looked = 2 * ((y->circle + y->t1 - 1) / y->t1);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        for (int a = 0; a < x->n_args && x->kind == INST_OP; a++)
            if (k->values.at[x->args[a]].kind == INST_SCAN && x->n_args > 1) again = 1;
    }
    return BESIDE + looked + (1 + again) * layout_load_words(k, y) + layout_scan_words(k, y);
}

/* All of its blocks are there together: the compiler makes them fit, or spills. */
static bool spills(const struct kernel *k, const struct layout *y, int64_t blocks) {
    enum { UNIT = 8 }; /* registers are handed out by so many, and by warps */
    int64_t most = k->limits->regs_unit / (blocks * y->threads) / UNIT * UNIT;
    return registers_of(k, y) > (most < 255 ? most : 255);
}

double cost_circle(const struct kernel *k, const struct layout *y) {
    const double START = 4, TURN = 1.8, BARRIERS = 350, MEMORY = 0.95, L2 = 1.3, POWER = 4;
    const struct device_limits *d = k->limits;
    double tiles = (double)(tile_count(kernel_size(k, AXIS_X), y->bx) *
                            tile_count(kernel_size(k, AXIS_R), y->br));
    int64_t blocks = (y->circle + d->units - 1) / d->units; /* of a multiprocessor */
    if (spills(k, y, blocks)) return 1e9;
    double rounds = ceil(tiles / y->circle), looked = 0, gbps = device_gbps(d);
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_SCAN)
            looked += 8.0 * reduction_words(k, v) * y->bx * tiles * y->circle;
    double memory = cost_traffic(k, y, y->circle) / (gbps * 1e3 * MEMORY) * (1 + 0.04 / y->vec) +
                    looked / (gbps * 1e3 * L2);
    double work = (cost_element_work(k, y) + 3) * y->ur * y->vec, warps = y->threads / d->warp;
    double alone = work + BARRIERS, issued = (double)blocks * warps * work / 4;
    double turn = TURN + fmax(alone, issued) / (device_clock_ghz(d) * 1e3);
    /* one block of a multiprocessor scans and has nothing to load meanwhile; others have */
    double gaps = rounds * alone / (device_clock_ghz(d) * 1e3) / (double)(blocks * blocks);
    double us = pow(pow(memory, POWER) + pow(rounds * turn, POWER), 1 / POWER) + gaps;
    return START + us * (1 + (y->threads > 512 ? 0.05 : 0));
}
