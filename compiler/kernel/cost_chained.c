/* cost_chained.c: what chained products, as attention is, take on a GPU, about. */
#include <math.h>

#include "kernel/cost.h"

/* Steps of a block that an edge along the diagonal cuts: tiles that both begin at its rows are cut
 * once. */
static double cut_steps(const struct kernel *k, double m, double n) {
    if (!k->edges.n) return 0;
    return fmod(m, n) == 0 || fmod(n, m) == 0 ? fmax(1, m / n) : m / n + 1;
}

/* Chained products: what the units take, or shared memory, and for each element between
 * instructions. By warps not fitted to anything; by warpgroups to softmax(q k^T) v in bf16, heads
 * of 64 and 128, on an H100 (2048 queries) and an H200 (4096, causal): of 128 rows a step of 64
 * columns takes 1362 clocks with heads of 64 and 1759 of 128, one of 128 columns 2397 and 3189; of
 * 192 rows and 64 columns 1730 and 2343. */
double cost_chained(const struct kernel *k, const struct layout *y) {
    const double SHARED = 100; /* bytes a clock of a multiprocessor */
    const double LOADED = 0.82, ELEMENT = 13, BEHIND = 1500, BARRIER = 60, RATE = 0.6, LAUNCH = 2;
    const double BESIDE = 0.1; /* of the faster of products and copies */
    const double MOST = 1.3; /* of its share of memory that a multiprocessor gets, if others idle */
    /* What a mask of data leaves, a guess; and questions answered in a us by all units: not
     * measured. */
    const double SHOWN = 0.5, ASKED = 4e6;
    const struct device_limits *d = k->limits;
    const struct chained *x = y->chained;
    double ghz = device_clock_ghz(d) * LOADED;
    double rate = d->matrix_tflops * 1e3 / (2 * d->units * device_clock_ghz(d));
    int bytes = dtype_bytes(x->a[0].dtype); /* tf32 takes twice as long as bf16 */
    rate *= x->planes ? 1.0 / MOST_PASSES : 2.0 / bytes;
    if (d->wgmma && x->by_warp) rate *= RATE;
    double m = y->bx, n = y->br, depth = x->n_first * x->a[0].depth,
           columns = x->n_second * x->columns;
    double warps = y->threads / (double)d->warp;
    double rows = (double)kernel_size(k, AXIS_M), keys = (double)kernel_size(k, AXIS_N);
    double parts = y->split, blocks = ceil(rows / m) * (double)kernel_size(k, AXIS_Z) * parts;
    double resident = floor((double)d->smem_unit / (y->smem + SMEM_RESERVED));
    double registers = (x->n_first * x->warp_columns + columns) * x->warp_rows / d->warp + 70;
    resident = fmax(1, fmin(resident, floor(d->regs_unit / (registers * y->threads))));
    if (!x->by_warp) resident = x->resident;
    resident = fmin(resident, fmax(1, ceil(blocks / d->units)));
    double units = m * n * (depth + columns) / rate;
    /* Each warp reads the columns that it has, and its rows. */
    double read = warps * (x->warp_columns * (depth + columns) + x->warp_rows * depth);
    double shared = read * bytes / SHARED;
    /* What few rows read was written there, too: 96 heads of 197 by 64 take an H200 13.5 us by 16 x
     * 16 and 14.5 by 16 x 32, of which 2 to 3 are the launch's. */
    if (x->by_warp) shared += n * (depth + columns) * bytes / SHARED;
    double between = m * n * ELEMENT / (4.0 * d->warp);
    /* Each warp makes planes of what it reads, and of its terms. */
    const double PLANES = 7;
    if (x->planes) between += (read + m * n) * PLANES / (4.0 * d->warp);
    /* Of the last columns each element is asked whether it is one: of many steps, in the last. */
    const int FEW_STEPS = 3;
    double asked = kernel_size(k, AXIS_N) % y->br != 0, all_steps = ceil(keys / n);
    if (!x->by_warp && all_steps > FEW_STEPS) asked /= all_steps;
    between *= 1 + 0.4 * asked;
    double busy = fmin(1, warps * resident / 8);
    double step = (fmax(units, shared) + between * 0.5) / busy + BARRIER / resident;
    /* Of f32 a thread's sums of a tile are there until they are multiplied, and not half of them:
     * beside 128 others are spilled, by heads of 32 half a kilobyte. Not measured. */
    const double SPILLED = 1.3, MOST_OF_TILE = 128;
    double tile = (x->n_first > x->n_second ? x->n_first : x->n_second) * x->warp_columns *
                  x->warp_rows / d->warp;
    if (x->by_warp && bytes > 2 && tile >= MOST_OF_TILE) step *= SPILLED;
    /* 4 x 32 x 2048 rows take an H200 1122 us in tf32 by heads of 64, 2313 of 128, and 2725 by
     * planes, where the above says 741, 1515 and 2406. */
    const double IN_TF32 = 1.5, IN_PLANES = 1.13;
    if (x->by_warp && bytes > 2) step *= x->planes ? IN_PLANES : IN_TF32;
    if (!x->by_warp) { /* a warpgroup's terms are made while another one's are multiplied */
        const double ALONE = 0.6, BESIDE_OTHERS = 0.3, WAIT = 600;
        /* Short steps: 32 heads of 2048 by 64 take 106.3 us on an H100 by 128 x 64 with three
         * stages, 99.4 with four; by 128 x 128 87.4 with either. */
        const double SHORT = 64, SHORT_STEP = 1.04, FEW_AHEAD = 1.05, UNEVEN = 0.1;
        /* Twins whose sums, and terms of both beside them, are more registers than these, which
         * steps of 64 with heads of 128 have: with heads of 64 128 x 128 takes 1991 us, 128 x 64
         * 1594 (causal rows, chained_layout.c); of all rows 128 x 96 2206, 128 x 64 2313. */
        const double CROWDED = 1.5, MOST_OF_TWINS = 224;
        /* Of a tile that both read, a step's is held until the next one's terms are made: of two
         * stages none is ahead. So, before any lagged, 32 heads of 2048 by 128 took an H100 186 us
         * with two, 117 with three. */
        const double ALL_HELD = 1500, ONE_HELD = 100; /* in turn: their own; not measured */
        /* Softmax of one beside products of another: forward on an H200, 4 x 32 x 4096, 1206 us for
         * 1229 with heads of 64, 1585 for 1592 of 128, 1397 for 1402 of 256 (16 heads); 1148 of 64
         * by three warpgroups with 112 columns. Of more products it is not measured. */
        const double IN_TURN = 0.98;
        const double ONE_AHEAD = 1.01; /* where tiles lag; not measured */
        shared = x->warpgroups * (n * (depth + columns) + 64 * depth) * bytes / SHARED;
        bool alone = x->warpgroups * resident < 2;
        step = fmax(units, shared);
        step = fmax(step, between) + (alone ? ALONE : BESIDE_OTHERS) * fmin(step, between);
        step += WAIT / (x->warpgroups * resident);
        if (n <= SHORT) step *= y->stages <= 3 ? SHORT_STEP * FEW_AHEAD : SHORT_STEP;
        step *= 1 + UNEVEN * asked;
        double held = (x->n_first * n + columns) / 2 + x->n_second * n * bytes / 8;
        if (x->n_second > 1 && n > SHORT && held > MOST_OF_TWINS) step *= CROWDED;
        bool ahead = y->stages > 2 || keys <= n || chained_lags(y); /* or no step is behind */
        if (!ahead) step += chained_is_in_turn(y) ? ONE_HELD : ALL_HELD;
        /* Three warpgroups spill some of these beside their sums: 4 x 32 x 4096 rows by 64 take an
         * H200 1150 us by 192 x 112, 190 MB of local memory, and 1140 by 192 x 96, none. */
        const double FULL = 112, SPILLS = 1.03;
        if (x->warpgroups == 3 && held > FULL) step *= SPILLS;
        if (x->ping_pong && x->n_first == 1 && x->n_second == 1) step *= IN_TURN;
        if (chained_lags(y) && y->stages == 2 && keys > n) step *= ONE_AHEAD;
    }
    double waves = ceil(blocks / (d->units * resident)) * resident, behind = BEHIND;
    /* A tile's begin is hidden by the end of the one before: an H200 takes 199 us for 222 of
     * 32 x 32 x 512 causal rows by 128, 50.0 for 58.3 of 64 x 12 x 197 by 64, 851 for 866 of
     * 4 x 32 x 4096 causal ones by 128; but 1258 for 1232 of all of them by 64. Of more products
     * it is not measured. Three warpgroups take 722 us for 4 x 32 x 4096 causal rows by 64, two
     * that stay 653. */
    const double SOON = 0.3, STAYING = 1.03, THREE = 1.15;
    bool one = x->n_first == 1 && x->n_second == 1;
    if (x->persists) step *= k->edges.n && one ? 1 : STAYING;
    if (x->persists && one) behind *= SOON;
    if (x->warpgroups == 3 && k->edges.n) step *= THREE;
    /* Of the steps that an edge cuts each element is asked whether it counts. */
    const double CUT = 1;
    if (k->edges.n) { /* of blocks that lie all over the rows */
        enum { SAMPLES = 16 };
        double all = 0;
        for (int i = 0; i < SAMPLES; i++) {
            int64_t at = (int64_t)((i + 0.5) * rows / SAMPLES / m) * y->bx;
            struct depth_range r = chained_range(k, kernel_size(k, AXIS_Z) / 2, at, y->bx);
            all += (double)(r.end - r.from);
        }
        keys = fmax(n, all / SAMPLES + n / 2);
    }
    if (x->skips) keys = fmax(n, keys * (chained_alike(k) > 1 ? SHOWN : 1));
    double us = LAUNCH + waves *
                             (ceil(ceil(keys / n) / parts) * step +
                              cut_steps(k, m, n) * CUT * between + behind / resident) /
                             (ghz * 1e3);
    double in_flight = fmin(resident, blocks / d->units) * (y->stages - 1) * x->stage;
    double least = (k->bytes_read + k->bytes_written) / (device_gbps(d) * 1e3 * 0.9);
    least /= fmin(1, fmin(in_flight / BYTES_IN_FLIGHT, MOST * blocks / d->units));
    if (rows <= m) least *= fmin(1, keys / (double)kernel_size(k, AXIS_N)); /* a window's */
    us = fmax(us, least) + BESIDE * fmin(us, least);
    for (int i = 0; i < x->n_second; i++) /* a launch each; not measured */
        if (x->c[i].turned) us += LAUNCH;
    us += 2 * (double)x->images / (device_gbps(d) * 1e3 * 0.8);
    if (x->skips)
        us += LAUNCH + (double)skipped_lists(k, y) * m * (double)kernel_size(k, AXIS_N) / ASKED;
    /* Warps that share a tile's columns join what they have. One query of 12 heads by 1024 keys of
     * 64 takes an H200 10.3 us so in TF32, 9.7 by 64 columns, and 13.6 by a warp for all of them;
     * but in bf16 11.2 to 14.3, and 7.7 by that. Of 128 heads by 8192 keys of bf16 133 and 138. */
    const double JOINED = 0.3, IN_BF16 = 1.7, IN_F32 = 1.1;
    if (x->shares > 1) us = us * (bytes > 2 ? IN_F32 : IN_BF16) + JOINED;
    if (parts == 1) return us;
    /* The last block reads what each part has left, so many at a time. Not measured. */
    const double MEETING = 2.5, TURN = 0.8;
    double left = blocks * y->threads * chained_part_floats(k, x) * 4;
    double at_once = chained_part_rows(k, x) == 1 ? 4 : 2;
    return us + MEETING + parts / at_once * TURN + 2 * left / (device_gbps(d) * 1e3);
}
