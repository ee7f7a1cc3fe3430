/* cost_short.c: what a config of little work takes on a GPU: its launch, and what one of its
 * threads waits for, joins and computes, as there is nothing that would hide it. */
#include <math.h>

#include "graph/traits.h"
#include "kernel/cost.h"

bool kernel_is_short(const struct kernel *k) {
    const double BYTES = 4e6;
    return (k->kind == KERNEL_POINTWISE || k->kind == KERNEL_REDUCE) && !k->landing &&
           k->bytes_read + k->bytes_written < BYTES;
}

/* Instructions of a thread for each of its elements, expensive ones apart: one after the other. */
static void serial_work(const struct kernel *k, const struct layout *y, double *plain,
                        double *expensive) {
    *plain = *expensive = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!(x->mask & MASK_R)) continue;
        if (x->kind == INST_OP && op_is_expensive(x->op))
            *expensive += 1;
        else
            *plain += cost_value_work(k, y, v, false);
    }
}

/* What a reduction's threads take to join what they have: lanes of a warp in steps, then parts of
 * warps, one after the other. */
static double joined_us(const struct kernel *k, const struct layout *y) {
    const double STEP = 0.03, PART = 0.0155, ACROSS = 0.0028; /* of a word */
    int warp = k->limits->warp, words = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        if (k->values.at[v].kind == INST_REDUCE) words += reduction_words(k, v);
        words += k->values.at[v].kind == INST_SCAN;
    }
    if (y->rows_inner) { /* threads of a warp have columns beside each other */
        int lanes = y->t0 < warp ? warp / y->t0 : 1;
        return ACROSS * words * y->vec * y->ex * (y->t1 / lanes - 1);
    }
    int lanes = y->t1 < warp ? y->t1 : warp;
    return words * y->ex * (STEP * log2(lanes) + PART * (y->t1 / lanes - 1));
}

/* Lines of memory that warps ask for beyond those that their elements fill, a clock each: of lanes
 * that have rows apart from each other. */
static double torn_clocks(const struct kernel *k, const struct layout *y) {
    enum axis inner = y->rows_inner ? AXIS_X : AXIS_R, outer = y->rows_inner ? AXIS_R : AXIS_X;
    int warp = k->limits->warp, threads = y->rows_inner ? y->t0 : y->t1,
        lanes = threads < warp ? threads : warp;
    double points = (double)kernel_rows(k) * (double)kernel_size(k, AXIS_R), torn = 0;
    for (value_id i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind != INST_LOAD || (v->mask & (MASK_X | MASK_R)) != (MASK_X | MASK_R)) continue;
        if (layout_load_is_uniform(k, y, v) || load_usual_stride(k, v, inner) != 1) continue;
        if (layout_turns(k, y, i) || layout_tap(y, i)) continue;
        bool whole = cost_load_is_whole(k, y, v);
        int64_t each = dtype_bytes(v->dtype) * (whole ? y->vec : 1), run = lanes * each;
        int64_t apart = load_usual_stride(k, v, outer) * dtype_bytes(v->dtype);
        if (apart <= run) continue;
        double of_run = fmax((double)run, fmin((double)apart, LINE)) / LINE,
               lines = (double)warp / lanes * of_run;
        torn +=
            points / (whole ? y->vec : 1) / warp * (lines - fmax(1, (double)warp * each / LINE));
    }
    return torn;
}

/* Sectors that are stored in parts, an element of each vector at a time, beyond those that all are.
 * L2 puts them together: f16[5888, 133] of vectors that are stored so, as rows are out of step with
 * them, takes an H200 10.9 us by 8 elements of 8 lanes a row, 3.4 by 4 of 32. */
static double parted_us(const struct kernel *k, const struct layout *y) {
    const double GBPS = 1500;
    int warp = k->limits->warp, threads = y->rows_inner ? y->t0 : y->t1,
        lanes = threads < warp ? threads : warp;
    double points = (double)kernel_rows(k) * (double)kernel_size(k, AXIS_R), more = 0;
    for (uint32_t i = 0; i < k->stores.n && y->vec > 1; i++) {
        const struct store_node *st = &k->stores.at[i];
        if (st->mask != (MASK_X | MASK_R) || layout_store_is_vector(k, y, st) ||
            layout_store_reverses(k, y, st))
            continue;
        int bytes = dtype_bytes(k->schedule->loops->buffers.at[st->buffer].meta.dtype);
        double of_run = fmin(lanes, fmax(1, (double)lanes * y->vec * bytes / SECTOR)),
               least = (double)lanes * bytes / SECTOR;
        more += points / lanes * (of_run - least) * SECTOR;
    }
    return more / (GBPS * 1e3);
}

/* Instructions of a warp for what its lanes join, in steps of two. */
static double joined_steps(const struct kernel *k, const struct layout *y) {
    int words = 0, lanes = y->t1 < k->limits->warp ? y->t1 : k->limits->warp;
    if (y->rows_inner) return 0;
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE) words += reduction_words(k, v);
    return words * y->ex * log2(lanes);
}

/* Of a kernel that moves little: its launch, and what one of its threads waits for and computes, as
 * there is nothing that would hide it. The numbers are fitted to 450 configs of 30 kernels that
 * take an H200 1 to 5 us, each with a number of its own for what all of its configs take. */
static double from_launch_us(const struct kernel *k, const struct layout *y, double launch,
                             double grid, double turns) {
    const double PLAIN = 0.0027, EXPENSIVE = 0.0094, WARP = 0.0034, BLOCKS = 0.037, SHARED = 1,
                 SECOND = 1.2, LAST = 1.25, COPIED = 0.31, STEP = 0.05, CARRIED = 0.7,
                 HINT = 0.2;   /* gains nothing: what differs otherwise is tried first */
    const double UNIT = 110e3; /* bytes that a multiprocessor reads in 1 us */
    /* Clocks of a scheduler, of each warp of later blocks, and of all for each instruction that
     * joins what lanes have, and for each of an element, or what is expensive; us: of blocks that
     * come when others have ended. A norm and its product with bf16[2304, 768] take an H200 3.7 us
     * by 1152 blocks of 2 warps, a row each, 4.5 by 2304 of 4, 5.4 by 288 of 32; 12 rows of 1024 by
     * [12, 1024, 64] 2.8 us by 8 columns a block, whose threads have rows of 128 bytes apart, 3.6
     * by 4 and 4.6 by 2. */
    const double ISSUED = 62, JOINS = 4, EACH = 1, DEAR = 4, LATER = 0.31;
    const struct device_limits *d = k->limits;
    double plain, expensive, steps = 1;
    serial_work(k, y, &plain, &expensive);
    if (k->kind == KERNEL_SCAN ||
        (k->kind == KERNEL_REDUCE && !y->one_read && !layout_keeps_row(y)))
        steps = ceil((double)kernel_size(k, AXIS_R) / (y->cluster * y->split) / y->br);
    double elements = turns * steps * y->ur * y->vec * y->ex,
           traffic = cost_traffic(k, y, cost_resident_blocks(k, y, 32) * d->units),
           busy = grid < d->units ? grid : d->units;
    double blocks = ceil(grid / d->units), clock = 1 / (device_clock_ghz(d) * 1e3);
    /* of a scheduler; of what waits for no others it was fitted without */
    double warps = k->kind != KERNEL_POINTWISE ? blocks * layout_warps(k, y) / 4 : 0;
    double alone = elements * (PLAIN * plain + EXPENSIVE * expensive),
           issued = warps * clock * EACH * elements * (plain + DEAR * expensive);
    double us = launch + fmax(alone, issued) +
                turns * fmax(joined_us(k, y), warps * clock * JOINS * joined_steps(k, y)) +
                WARP * layout_warps(k, y) + BLOCKS * grid / d->units +
                (k->kind == KERNEL_SCAN ? CARRIED : STEP) * (steps * cost_reads(k, y) - 1);
    us += parted_us(k, y);
    us += (torn_clocks(k, y) / grid * blocks + warps * (1 - 1 / blocks) * ISSUED) * clock;
    int registers = cost_thread_registers(k, y, cost_loaded_words(k, y)), most = 255;
    double at_once = (double)cost_resident_blocks(k, y, registers < most ? registers : most);
    if (warps && blocks > at_once) us += LATER * ceil(blocks / fmax(1, at_once) - 1);
    if (y->cluster > 1) us += SHARED * k->levels;
    if (y->split > 1) us += (y->last_block ? LAST : SECOND) + cost_finish_turns(k, y) - 1;
    if (y->stages > 1) us += COPIED;
    if (y->skip_l1) us += HINT;
    return us + traffic / (device_gbps(d) * 1e3) + traffic / busy / UNIT;
}

double cost_short_us(const struct kernel *k, const struct layout *y, double grid, double turns) {
    const double LAUNCH = 1.1;
    return from_launch_us(k, y, LAUNCH, grid, turns);
}

/* So little that a thread's own elements, which follow one another, are what it waits for: of 60
 * configs of prefixes over 16 rows of 2304 f32, the one with 2 elements a thread was the
 * fastest on an H200, with 1.7 us. */
bool cost_is_short_scan(const struct kernel *k, const struct layout *y) {
    const double BYTES = 4e6;
    return k->kind == KERNEL_SCAN && !y->look_back && k->bytes_read + k->bytes_written < BYTES;
}

/* What its warps issue counts whatever the kind, as all of it is one multiprocessor's; and what
 * each turn waits for. */
double cost_in_turns(const struct kernel *k, const struct layout *y, double turns) {
    const double TURN = 0.15, DEAR = 4;
    double plain, expensive, steps = ceil((double)kernel_size(k, AXIS_R) / y->br);
    int words = cost_loaded_words(k, y), registers = cost_thread_registers(k, y, words);
    if (registers * y->threads > k->limits->regs_unit) return INFINITY; /* would spill */
    serial_work(k, y, &plain, &expensive);
    if (y->one_read || y->grid_r) steps = 1;
    double elements = turns * steps * y->ur * y->vec * y->ex,
           issued = k->kind != KERNEL_POINTWISE
                        ? 0
                        : layout_warps(k, y) / 4.0 * elements * (plain + DEAR * expensive) /
                              (device_clock_ghz(k->limits) * 1e3);
    return from_launch_us(k, y, 0, 1, turns) + issued + TURN * (turns * steps - 1);
}
